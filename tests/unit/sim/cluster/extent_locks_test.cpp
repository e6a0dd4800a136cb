// A server's extent locks: who gets how much, who must give back, and that nobody waits for ever.
#include "sim/cluster/extent_locks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "extent/seeded_random.h"
#include "unit/sim/cluster/sizes.h"

namespace forebay::sim {
namespace {

using Lock = ExtentLocks::Lock;
using Outcome = ExtentLocks::Outcome;

constexpr int64_t whole_object = std::numeric_limits<int64_t>::max();

TEST(ExtentLocks, WhoIsAloneGetsTheWholeObject) {
  ExtentLocks locks;
  Outcome outcome;
  locks.ask({1, 0, true, {4096, 4096}}, outcome);
  ASSERT_EQ(outcome.granted.size(), 1u);
  EXPECT_EQ(outcome.granted[0].extent, (Extent{0, whole_object}));
  EXPECT_TRUE(outcome.called_back.empty());
}

TEST(ExtentLocks, AnothersRequestCallsItBackAndWaits) {
  ExtentLocks locks;
  Outcome outcome;
  locks.ask({1, 0, true, {0, 4096}}, outcome);
  outcome = {};
  locks.ask({2, 1, true, {mib, 4096}}, outcome);
  locks.ask({3, 2, true, {2 * mib, 4096}}, outcome);
  EXPECT_TRUE(outcome.granted.empty());
  ASSERT_EQ(outcome.called_back.size(), 1u);  // once
  EXPECT_EQ(outcome.called_back[0].lock.number, 1u);
  EXPECT_EQ(outcome.called_back[0].for_client, 1u);
  outcome = {};
  locks.give_back(1, outcome);
  // Both get a part: each up to what the other has asked for.
  ASSERT_EQ(outcome.granted.size(), 2u);
  EXPECT_EQ(outcome.granted[0].extent, (Extent{0, 2 * mib}));
  EXPECT_EQ(outcome.granted[1].extent, (Extent{2 * mib, whole_object - 2 * mib}));
}

TEST(ExtentLocks, ReadersShare) {
  ExtentLocks locks;
  Outcome outcome;
  for (uint32_t client = 0; client < 5; ++client)
    locks.ask({client + 1, client, false, {0, 4096}}, outcome);
  EXPECT_EQ(outcome.granted.size(), 5u);
  EXPECT_EQ(outcome.granted[4].extent, (Extent{0, whole_object}));
  outcome = {};
  locks.ask({9, 9, true, {0, 1}}, outcome);
  EXPECT_EQ(outcome.called_back.size(), 5u);
}

TEST(ExtentLocks, InACrowdAWriteLockGrowsLittle) {
  const auto granted = [](uint32_t clients) {
    ExtentLocks locks;
    Outcome outcome;
    for (uint32_t client = 0; client < clients; ++client)
      locks.ask({client + 1, client, true, {client * 1000 * mib, 4096}}, outcome);
    outcome = {};
    locks.give_back(1, outcome);
    EXPECT_EQ(outcome.granted.size(), clients - 1);
    return outcome.granted.front().extent;
  };
  EXPECT_EQ(granted(30), (Extent{0, 2000 * mib}));
  EXPECT_EQ(granted(100), (Extent{0, 1000 * mib + ExtentLocks::most_growth}));
}

// Clients ask at random and give back what is called back, at random times: no two locks conflict,
// each holds what was asked for, and in the end everybody has got a lock.
TEST(ExtentLocks, NobodyWaitsForEverAndNoTwoConflict) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SeededRandom random(seed);
    ExtentLocks locks;
    std::map<uint64_t, Lock> asked, held;
    std::vector<uint64_t> to_return;
    Outcome outcome;
    const auto take_in = [&] {
      for (const Lock& lock : outcome.granted) {
        const Lock& wish = asked.at(lock.number);
        ASSERT_LE(lock.extent.offset, wish.extent.offset);
        ASSERT_GE(lock.extent.end(), wish.extent.end());
        for (const auto& [number, other] : held) {
          const bool apart =
              lock.extent.end() <= other.extent.offset || other.extent.end() <= lock.extent.offset;
          ASSERT_TRUE(other.client == lock.client || apart || !(other.writes || lock.writes));
        }
        held[lock.number] = lock;
      }
      for (const auto& [lock, for_client] : outcome.called_back) {
        EXPECT_NE(lock.client, for_client);
        to_return.push_back(lock.number);
      }
      outcome = {};
    };
    const auto give_back_one = [&] {
      const auto at = to_return.begin() + random.below(std::ssize(to_return));
      const uint64_t number = *at;
      to_return.erase(at);
      held.erase(number);
      locks.give_back(number, outcome);
      take_in();
    };
    for (uint64_t number = 1; number <= 300; ++number) {
      const Lock lock{number,
                      static_cast<uint32_t>(random.below(8)),
                      random.one_in(2),
                      {random.below(1000), 1 + random.below(50)}};
      asked[number] = lock;
      locks.ask(lock, outcome);
      take_in();
      while (!to_return.empty() && random.one_in(2)) give_back_one();
    }
    while (!to_return.empty()) give_back_one();
    EXPECT_EQ(locks.waiting(), 0u) << seed;
    EXPECT_EQ(locks.held(), held.size());
  }
}

}  // namespace
}  // namespace forebay::sim
