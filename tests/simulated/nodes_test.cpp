// Whole nodes, in virtual time, from a seed. FOREBAY_SEEDS: how many random programs; FOREBAY_SEED:
// the first one's seed, as a failure says it; FOREBAY_SHRINKS: how many runs are spent on a smaller
// program that fails.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "simulated/program.h"

// What a killed fiber had is lost with it, as in a killed process.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace forebay::test {
namespace {

constexpr int operations = 120;

uint64_t number_in(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(Nodes, LoseNoByte) {
  const uint64_t first = number_in("FOREBAY_SEED", 1);
  const uint64_t seeds = number_in("FOREBAY_SEEDS", 3000);
  const int shrinks = static_cast<int>(number_in("FOREBAY_SHRINKS", 1000));
  int64_t accesses = 0;
  int64_t deaths = 0;
  int64_t waits_in_vain = 0;
  Statistics statistics;
  Statistics background;
  int64_t kept_pages = 0;
  int64_t committed_behind = 0;  // where no page waits in a buffer
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const Program program = random_program(seed, operations);
    const Outcome outcome = run(program, seed);
    accesses += outcome.accesses;
    deaths += outcome.deaths;
    if (outcome.deaths == 0) waits_in_vain += outcome.waits_in_vain;
    statistics.add(outcome.statistics);
    background.add(outcome.background);
    kept_pages += outcome.kept_pages;
    if (program.settings.cache.write_back_buffer == 0)
      committed_behind += outcome.background.committed_bytes;
    if (outcome.failure.empty()) continue;
    const Program least = shrink(program, seed, shrinks);
    FAIL() << "FOREBAY_SEED=" << seed << ": " << outcome.failure << "\nthe same with "
           << least.operations() << " of " << program.operations()
           << " operations: " << run(least, seed).failure << "\n"
           << describe(least);
  }
  RecordProperty("accesses", std::to_string(accesses));
  // Every way through the engine was taken.
  if (seeds < 1000) return;
  EXPECT_GT(deaths, 0);
  EXPECT_EQ(waits_in_vain, 0);  // where all live, who ends I/O wakes those that wait for it
  EXPECT_GT(statistics.hits, 0);
  EXPECT_GT(statistics.commit_lists, 0);
  EXPECT_GT(statistics.evictions, 0);
  EXPECT_GT(statistics.bypass_bytes, 0);
  EXPECT_GT(statistics.aside_calls, 0);
  EXPECT_GT(statistics.no_page_calls, 0);
  EXPECT_GT(statistics.fetched_bytes, 0);
  EXPECT_GT(statistics.guest_bytes, 0);
  EXPECT_GT(statistics.accepted_bytes, 0);
  EXPECT_GT(statistics.local_calls, 0);
  EXPECT_GT(committed_behind, 0);
  EXPECT_GT(background.fetched_bytes, 0);
  EXPECT_GT(background.evictions, 0);
  EXPECT_GT(kept_pages, 0);
  EXPECT_GT(statistics.ahead_used_pages, 0);
  EXPECT_GT(background.ahead_late_pages, 0);
}

TEST(Nodes, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Program program = random_program(seed, operations);
    const Outcome once = run(program, seed);
    const Outcome again = run(program, seed);
    EXPECT_EQ(once.digest, again.digest);
    EXPECT_EQ(once.statistics, again.statistics);
    EXPECT_NE(once.digest, run(program, seed + 1000).digest);
  }
}

}  // namespace
}  // namespace forebay::test
