// Randomly changed trace files with correct checksums: the reader keeps its promises, and
// sanitizers check it in their builds. TRACE_FUZZ_RUNS is the number of files.
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
