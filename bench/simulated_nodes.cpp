// The speed of the seeded test of whole nodes: accesses and steps a minute of one core's time.
//
//   simulated_nodes [PROGRAMS]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "simulated/program.h"

int main(int argc, char** argv) {
  const uint64_t programs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 3000;
  int64_t accesses = 0;
  uint64_t steps = 0;
  const std::clock_t before = std::clock();
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    const forebay::test::Outcome outcome =
        forebay::test::run(forebay::test::random_program(seed, 120), seed);
    if (!outcome.failure.empty()) std::printf("seed %lu: %s\n", seed, outcome.failure.c_str());
    accesses += outcome.accesses;
    steps += outcome.steps;
  }
  const double minutes = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC / 60;
  std::printf("%.1f million accesses and %.0f million steps a minute\n",
              static_cast<double>(accesses) / minutes / 1e6,
              static_cast<double>(steps) / minutes / 1e6);
  return 0;
}
