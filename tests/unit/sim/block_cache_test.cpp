// The simulator's block cache, and Belady's bound.
#include "sim/block_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sim/belady.h"
#include "sim/numbered_cache.h"
#include "sim/page_numbers.h"
#include "unit/variants.h"

namespace forebay {
namespace {

std::vector<PageKey> pages(const std::vector<int64_t>& numbers) {
  std::vector<PageKey> keys;
  for (const int64_t number : numbers) keys.push_back({1, number});
  return keys;
}

int64_t hits(const char* policy, uint32_t frames, const std::vector<PageKey>& touches) {
  sim::BlockCache cache(*find_policy(policy), frames);
  cache.access(touches);
  EXPECT_EQ(cache.hits() + cache.misses(), static_cast<int64_t>(touches.size()));
  return cache.hits();
}

std::vector<PageKey> random_touches(uint64_t seed, int count, uint64_t pages_touched) {
  std::mt19937_64 random(seed);
  std::vector<PageKey> keys;
  for (int i = 0; i < count; ++i) {
    const uint64_t number = std::min(random() % pages_touched, random() % pages_touched);
    keys.push_back({1 + number % 3, static_cast<int64_t>(number)});
  }
  return keys;
}

// By definition: evicts the cached page whose next touch is the latest.
int64_t min_by_looking(const std::vector<PageKey>& touches, std::size_t frames) {
  std::vector<PageKey> cached;
  int64_t found = 0;
  for (std::size_t i = 0; i < touches.size(); ++i) {
    if (std::find(cached.begin(), cached.end(), touches[i]) != cached.end()) {
      ++found;
      continue;
    }
    if (cached.size() == frames) {
      const auto next = [&](const PageKey& key) {
        return std::find(touches.begin() + static_cast<std::ptrdiff_t>(i), touches.end(), key);
      };
      cached.erase(
          std::max_element(cached.begin(), cached.end(),
                           [&](const auto& a, const auto& b) { return next(a) < next(b); }));
    }
    cached.push_back(touches[i]);
  }
  return found;
}

TEST(BlockCache, CountsEachTouchOnce) {
  sim::BlockCache cache(*find_policy("lru"), 2);
  EXPECT_FALSE(cache.access({1, 1}));
  EXPECT_FALSE(cache.access({2, 1}));
  EXPECT_TRUE(cache.access({1, 1}));
  EXPECT_FALSE(cache.access({1, 2}));
  EXPECT_FALSE(cache.access({2, 1}));
  EXPECT_EQ(cache.hits(), 1);
  EXPECT_EQ(cache.misses(), 4);
  EXPECT_EQ(cache.evictions(), 2);
}

TEST(BlockCache, PoliciesDifferWhereTheyShould) {
  // LFU keeps the most used page; SIEVE's hand passes over it once.
  const std::vector<PageKey> favourite = pages({1, 1, 1, 2, 2, 3, 1, 1});
  EXPECT_EQ(hits("lfu", 2, favourite), 5);
  EXPECT_EQ(hits("sieve", 2, favourite), 4);
  // A scan evicts the loop from LRU, but not from ARC.
  std::vector<int64_t> numbers;
  for (int round = 0; round < 50; ++round) {
    for (int twice = 0; twice < 2; ++twice) {
      for (int64_t i = 0; i < 8; ++i) numbers.push_back(i);
    }
    for (int64_t i = 0; i < 16; ++i) numbers.push_back(1000 + round * 16 + i);
  }
  const std::vector<PageKey> scanned = pages(numbers);
  EXPECT_EQ(hits("lru", 16, scanned), 400);
  EXPECT_GT(hits("arc", 16, scanned), 700);
  EXPECT_GT(hits("s3fifo", 16, scanned), 700);
}

TEST(BlockCache, ShardsShareTheTouchesOut) {
  const std::vector<PageKey> touches = random_touches(3, 20000, 4000);
  sim::BlockCache cache(*find_policy("lru"), 1000, 8);
  std::map<uint32_t, sim::BlockCache> alone;
  for (uint32_t s = 0; s < 8; ++s) alone.try_emplace(s, *find_policy("lru"), 125);
  int64_t sum = 0;
  for (const PageKey key : touches) sum += alone.at(shard_of(key, 8)).access(key) ? 1 : 0;
  cache.access(touches);
  EXPECT_EQ(cache.hits(), sum);
  EXPECT_EQ(cache.frames(), 1000u);
}

TEST(BlockCache, HasAPowerOfTwoOfShards) {
  const std::vector<PageKey> touches = random_touches(5, 5000, 400);
  for (const uint32_t shards : {3u, 5u, 63u, 65u, 4'000'000'000u}) {
    sim::BlockCache some(*find_policy("lru"), 96, shards);
    sim::BlockCache below(*find_policy("lru"), 96, std::bit_floor(std::min(shards, 96u)));
    some.access(touches);
    below.access(touches);
    EXPECT_EQ(some.hits(), below.hits()) << shards;
  }
}

// Counts ghosts, and the table that finds a page.
TEST(BlockCache, KeepsLittleForABlock) {
  constexpr uint32_t frames = 100000;
  for (const PolicySpec& policy : test::policies_of_blocks()) {
    const sim::BlockCache cache(policy, frames);
    EXPECT_LE(cache.state_bytes(), std::size_t{64} * frames) << policy.name;
  }
}

TEST(BlockCache, WithoutFramesHoldsNothing) {
  const std::vector<PageKey> touches = pages({1, 1, 2, 1});
  for (const PolicySpec& policy : test::policies_of_blocks()) {
    sim::BlockCache cache(policy, 0, 4);
    cache.access(touches);
    EXPECT_EQ(cache.hits(), 0) << policy.name;
    EXPECT_EQ(cache.misses(), 4) << policy.name;
    EXPECT_EQ(cache.evictions(), 0) << policy.name;
    EXPECT_EQ(cache.frames(), 0U) << policy.name;
  }
  EXPECT_EQ(sim::min_hits(touches, std::vector<uint32_t>{0, 1}), (std::vector<int64_t>{0, 1}));
}

TEST(BlockCache, HasNoMoreFramesThanItIsGiven) {
  for (const PolicySpec& policy : test::policies_of_blocks()) {  // two shards
    EXPECT_EQ(sim::BlockCache(policy, 3, 8).frames(), 2U) << policy.name;
  }
}

TEST(BlockCache, UselessFramesMakeNoDifference) {
  const std::vector<PageKey> touches = random_touches(1, 2000, 300);
  for (const PolicySpec& policy : test::policies_of_blocks()) {
    for (const uint32_t shards : {1U, 4U}) {
      sim::BlockCache large(policy, 100'000, shards);
      const uint32_t useful = sim::useful_frames(100'000, touches.size(), shards);
      EXPECT_LE(useful, touches.size() * shards);
      sim::BlockCache enough(policy, useful, shards);
      large.access(touches);
      enough.access(touches);
      EXPECT_EQ(large.hits(), enough.hits()) << policy.name;
      EXPECT_EQ(enough.evictions(), 0) << policy.name;
    }
  }
}

TEST(NumberedCache, CountsAsTheShardsOfTheRuntimeDo) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const std::vector<PageKey> touches = random_touches(seed, 20000, 3000);
    uint32_t known = 0;
    const std::vector<uint32_t> numbers = sim::numbers_of(touches, &known);
    for (const PolicySpec& policy : test::policies_of_blocks()) {
      for (const uint32_t frames : {0U, 1U, 7U, 100U, 1000U, known - 1, known, 10'000U}) {
        sim::BlockCache judge(policy, frames);
        judge.access(touches);
        sim::NumberedCache cache(policy, frames, known);
        cache.access(numbers);
        EXPECT_EQ(cache.hits(), judge.hits()) << policy.name << " " << frames;
        EXPECT_EQ(cache.misses(), judge.misses()) << policy.name << " " << frames;
        EXPECT_EQ(cache.evictions(), judge.evictions()) << policy.name << " " << frames;
      }
    }
  }
}

TEST(PageNumbers, ArePagesInTheOrderOfTheirFirstTouch) {
  std::vector<PageKey> touches = random_touches(1, 20000, 9000);
  touches.push_back({1, -1});
  touches.push_back({1, std::numeric_limits<int64_t>::max()});
  std::map<std::pair<uint64_t, int64_t>, uint32_t> met;
  uint32_t pages = 0;
  const std::vector<uint32_t> numbers = sim::numbers_of(touches, &pages);
  for (std::size_t i = 0; i < touches.size(); ++i) {
    const auto next = static_cast<uint32_t>(met.size());
    EXPECT_EQ(numbers[i], met.try_emplace({touches[i].file, touches[i].page}, next).first->second);
  }
  EXPECT_EQ(pages, met.size());
}

TEST(Belady, IsTheDefinition) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const std::vector<PageKey> touches = random_touches(seed, 400, 60);
    const std::vector<uint32_t> frames{1, 2, 5, 17, 40, 100};
    const std::vector<int64_t> found = sim::min_hits(touches, frames);
    for (std::size_t i = 0; i < frames.size(); ++i)
      EXPECT_EQ(found[i], min_by_looking(touches, frames[i])) << seed << " " << frames[i];
  }
}

TEST(Belady, NoPolicyGoesBeyond) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const std::vector<PageKey> touches = random_touches(seed, 20000, 3000);
    const std::vector<uint32_t> frames{1, 10, 100, 1000};
    const std::vector<int64_t> bound = sim::min_hits(touches, frames);
    for (const PolicySpec& policy : test::policies_of_blocks()) {
      for (std::size_t i = 0; i < frames.size(); ++i)
        EXPECT_LE(hits(policy.name, frames[i], touches), bound[i]) << policy.name;
    }
  }
}

}  // namespace
}  // namespace forebay
