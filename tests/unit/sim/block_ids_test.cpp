#include "sim/block_ids.h"

#include <gtest/gtest.h>

#include <numeric>

namespace forebay::sim {
namespace {

// More ids than are handed on at a time: 0, 1, ... 9,999, and the same again.
std::vector<uint64_t> twice() {
  std::vector<uint64_t> ids(20'000);
  std::iota(ids.begin(), ids.begin() + 10'000, 0);
  std::iota(ids.begin() + 10'000, ids.end(), 0);
  return ids;
}

TEST(SimBlockIds, ACacheOfAllBlocksHasEveryBlockOnce) {
  const BlockCounts counts = simulate_blocks(*find_policy("lru"), twice(), 10'000, 1);
  EXPECT_EQ(counts.hits, 10'000);
  EXPECT_EQ(counts.misses, 10'000);
  EXPECT_EQ(counts.evictions, 0);
  EXPECT_GT(counts.state_bytes, 0u);
}

TEST(SimBlockIds, LruHasNoHitWhereOneBlockIsLacking) {
  const BlockCounts counts = simulate_blocks(*find_policy("lru"), twice(), 9'999, 1);
  EXPECT_EQ(counts.hits, 0);
  EXPECT_EQ(counts.evictions, 20'000 - 9'999);
}

TEST(SimBlockIds, MinTakesInWhatItMissesAndKeepsTheRest) {
  EXPECT_EQ(min_block_hits(twice(), {0, 1, 9'999, 10'000}),
            (std::vector<int64_t>{0, 0, 9'999, 10'000}));
}

}  // namespace
}  // namespace forebay::sim
