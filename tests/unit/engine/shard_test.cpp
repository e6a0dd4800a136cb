// How the pages of a file are divided among the shards of a cache.
#include "engine/shard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace forebay {
namespace {

constexpr int64_t pages_a_run = 16;

// The pages in each shard once one has `most` of them. `page_of`: the n-th page.
template <typename PageOf>
std::vector<int64_t> filled(uint32_t shards, int64_t most, PageOf page_of) {
  std::vector<int64_t> pages(shards, 0);
  for (int64_t n = 0; *std::ranges::max_element(pages) < most; ++n)
    ++pages[shard_of({7, page_of(n)}, shards)];
  return pages;
}

int64_t sum(const std::vector<int64_t>& pages) {
  int64_t all = 0;
  for (const int64_t some : pages) all += some;
  return all;
}

TEST(ShardOf, TheBeginningOfAFileFillsAllShardsAlike) {
  for (uint32_t shards = 1; shards <= 64; shards *= 2) {
    std::vector<int64_t> pages(shards, 0);
    for (int64_t page = 0; page < int64_t{shards} * 4 * pages_a_run; ++page)
      ++pages[shard_of({3, page}, shards)];
    EXPECT_EQ(pages, std::vector<int64_t>(shards, 4 * pages_a_run));
  }
}

TEST(ShardOf, AnyPartOfAFileFillsTheShardsAboutAlike) {
  constexpr int64_t most = 32 * pages_a_run;
  for (const int64_t first : {1, 37 * 16, 1000 * 16 + 5, 123'456'789}) {
    for (uint32_t shards = 2; shards <= 64; shards *= 2) {
      const auto pages = filled(shards, most, [first](int64_t n) { return first + n; });
      EXPECT_GT(sum(pages), most * shards * 9 / 10) << first << ' ' << shards;
    }
  }
}

// Node 1 of several has every so-manieth chunk (domain=cyclic or stripe).
TEST(ShardOf, TheChunksOfANodeFillMostOfItsCache) {
  constexpr int64_t most = 32 * pages_a_run;
  for (const int64_t chunk : {1, 4, 16, 64, 256, 1024}) {  // pages
    for (const int64_t nodes : {2, 3, 4, 6, 8, 16, 32, 64, 96, 100, 128, 1000, 1024}) {
      for (uint32_t shards = 2; shards <= 64; shards *= 2) {
        const auto pages = filled(shards, most, [chunk, nodes](int64_t n) {
          return (n / chunk * nodes + 1) * chunk + n % chunk;
        });
        EXPECT_GT(sum(pages), most * shards * 7 / 10) << chunk << ' ' << nodes << ' ' << shards;
      }
    }
  }
}

TEST(ShardOf, FilesThatFollowEachOtherInASlotHaveTheSameShards) {
  for (int64_t page = 0; page < 5000; page += 7)
    EXPECT_EQ(shard_of({5, page}, 16), shard_of({5 + files_at_once, page}, 16));
}

}  // namespace
}  // namespace forebay
