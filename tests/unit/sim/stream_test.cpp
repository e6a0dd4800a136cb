// Streams for several caches, and samples of them, compared with the block cache.
#include "sim/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "sim/belady.h"
#include "sim/block_cache.h"
#include "unit/variants.h"

namespace forebay::sim {
namespace {

std::vector<PageKey> random_touches(uint64_t seed, int count, uint64_t pages_touched) {
  std::mt19937_64 random(seed);
  std::vector<PageKey> keys;
  for (int i = 0; i < count; ++i) {
    const uint64_t number = std::min(random() % pages_touched, random() % pages_touched);
    keys.push_back({1 + number % 3, static_cast<int64_t>(number)});
  }
  return keys;
}

TEST(Stream, EachCacheIsSimulatedByItself) {
  Shown shown;
  std::vector<std::vector<PageKey>> each{
      random_touches(1, 5000, 800), {}, random_touches(2, 3000, 400)};
  for (const std::vector<PageKey>& touches : each) {
    shown.keys.insert(shown.keys.end(), touches.begin(), touches.end());
    shown.ends.push_back(shown.keys.size());
  }
  const Stream stream(std::move(shown));
  const std::vector<uint32_t> frames{50, 10, 5000};
  for (const PolicySpec& policy : test::policies_of_blocks()) {
    CacheCounts sum;
    for (std::size_t c = 0; c < each.size(); ++c) {
      BlockCache judge(policy, frames[c]);
      judge.access(each[c]);
      sum.hits += judge.hits();
      sum.evictions += judge.evictions();
    }
    Progress progress;
    const CacheCounts counts = simulate(stream, policy, frames, progress);
    EXPECT_EQ(counts.hits, sum.hits) << policy.name;
    EXPECT_EQ(counts.misses, 8000 - sum.hits) << policy.name;
    EXPECT_EQ(counts.evictions, sum.evictions) << policy.name;
    EXPECT_EQ(progress.done, 8000U);
  }
  Progress progress;
  int64_t best = 0;
  for (std::size_t c = 0; c < each.size(); ++c)
    best += min_hits(each[c], std::span(frames).subspan(c, 1)).front();
  EXPECT_EQ(simulate_min(stream, frames, progress).hits, best);
  EXPECT_EQ(progress.done, 16'000U);
}

TEST(Stream, AccessesAndWhatWentPastACacheAreKept) {
  Shown shown;
  shown.keys = random_touches(1, 100, 20);
  shown.ends = {60, 100};
  shown.accesses = {50, 30};
  shown.past_accesses = 4;
  shown.past_bytes = 12'345;
  const Stream stream(std::move(shown));
  EXPECT_EQ(stream.accesses(), (std::vector<uint64_t>{50, 30}));
  EXPECT_EQ(stream.past_accesses(), 4U);
  EXPECT_EQ(stream.past_bytes(), 12'345U);
  const Stream sample = stream.sampled(0, uint64_t{1} << 31);
  EXPECT_TRUE(sample.accesses().empty());
  EXPECT_EQ(sample.past_accesses(), 0U);
  EXPECT_EQ(sample.past_bytes(), 0U);
}

TEST(Stream, KeysAloneAreTouchesOfOneCache) {
  const Stream stream(std::vector<PageKey>{{1, 7}, {1, 8}, {1, 7}});
  ASSERT_EQ(stream.caches(), 1U);
  EXPECT_EQ(stream.touches(), 3U);
  EXPECT_EQ(stream.pages(), 2U);
  EXPECT_EQ(stream.accesses(), (std::vector<uint64_t>{3}));
  EXPECT_EQ(Stream(std::vector<PageKey>{}).caches(), 1U);
}

TEST(Stream, ASampleHasAllTouchesOfItsPagesAndTogetherTheyAreTheWhole) {
  Shown shown;
  shown.keys = random_touches(1, 20000, 3000);
  shown.ends = {9000, 20000};
  const Stream stream(std::move(shown));
  constexpr uint64_t marks = uint64_t{1} << 32;
  std::size_t touches = 0, pages = 0;
  for (uint64_t part = 0; part < 4; ++part) {
    const Stream sample = stream.sampled(part * marks / 4, (part + 1) * marks / 4);
    ASSERT_EQ(sample.caches(), 2U);
    EXPECT_NEAR(static_cast<double>(sample.pages()), static_cast<double>(stream.pages()) / 4, 150);
    // Everything but the first touch of each page is a hit where all have room.
    Progress progress;
    const std::vector<uint32_t> frames{10'000, 10'000};
    const CacheCounts counts = simulate(sample, policies()[0], frames, progress);
    EXPECT_EQ(counts.misses, static_cast<int64_t>(sample.pages()));
    touches += sample.touches();
    pages += sample.pages();
  }
  EXPECT_EQ(touches, stream.touches());
  EXPECT_EQ(pages, stream.pages());
}

}  // namespace
}  // namespace forebay::sim
