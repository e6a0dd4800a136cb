// Trace files changed at random behind right checksums: the reader keeps its promises, and the
// sanitizers of their builds watch. TRACE_FUZZ_RUNS says how many files are tried.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "fuzz/scripted_trace.h"

namespace forebay::trace {
namespace {

constexpr int usual_runs = 6000;

TEST(TraceFuzz, HostileFilesAreReadWithinBounds) {
  const char* wanted = std::getenv("TRACE_FUZZ_RUNS");
  const int runs = wanted == nullptr ? usual_runs : std::atoi(wanted);
  std::size_t accesses = 0;
  for (int run = 0; run < runs; ++run) {
    std::mt19937_64 random(static_cast<uint64_t>(run));
    Bytes script(8 + 4 * (random() % 7));
    for (std::byte& byte : script) byte = static_cast<std::byte>(random());
    ASSERT_EQ(broken_promise(scripted_trace(script), accesses), "") << run;
  }
  EXPECT_GT(accesses, static_cast<std::size_t>(runs));  // checksums were right
}

}  // namespace
}  // namespace forebay::trace
