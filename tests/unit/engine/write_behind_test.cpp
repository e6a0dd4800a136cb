// Where nodes hand their bytes over, write-behind leaves pages that lack bytes: the other nodes'
// would follow in requests of their own.
#include <gtest/gtest.h>

#include "engine/cache_handle.h"
#include "predict/predictor.h"
#include "unit/engine/one_file_cache.h"

namespace forebay::sim {
namespace {

constexpr int64_t page_bytes = 4096;
constexpr int64_t pages_of_cache = 64;

CacheShape shape_of_the_cache() {
  return {.page_kind = find_page_kind("mask"),
          .policy = find_policy("lru"),
          .page_size = page_bytes,
          .capacity_bytes = pages_of_cache * page_bytes,
          .shards = 1};
}

HandleRules writing_behind(bool hands_over) {
  HandleRules rules;
  rules.hands_over = hands_over;
  rules.step_aside = SteppingAside::never;
  rules.predictor = find_predictor("sequential");
  return rules;
}

class WriteBehindTest : public testing::TestWithParam<bool> {
 protected:
  // Writes the first `bytes` bytes of each of these pages.
  void write(int64_t first, int64_t pages, int64_t bytes) {
    for (int64_t page = first; page < first + pages; ++page)
      EXPECT_TRUE(handle_.write(Extent{page * page_bytes, bytes}, NoBytes{}).ok());
  }
  int64_t committed_bytes() const { return cache_.statistics().committed_bytes; }

 private:
  OneFileCache<InstantDriver> cache_{shape_of_the_cache()};
  CacheHandle<InstantDriver> handle_{cache_.cache(), cache_.file(), writing_behind(GetParam()),
                                     true, false};
};

INSTANTIATE_TEST_SUITE_P(HandsOver, WriteBehindTest, testing::Bool());

TEST_P(WriteBehindTest, LeavesPagesThatLackBytes) {
  write(0, pages_of_cache, page_bytes / 2);
  EXPECT_EQ(committed_bytes() == 0, GetParam());
}

TEST_P(WriteBehindTest, CommitsFullPages) {
  write(0, pages_of_cache / 2, page_bytes / 2);
  write(pages_of_cache / 2, pages_of_cache / 2, page_bytes);
  EXPECT_GT(committed_bytes(), page_bytes * pages_of_cache / 4);
  if (GetParam()) {
    EXPECT_EQ(committed_bytes() % page_bytes, 0);
  }
}

}  // namespace
}  // namespace forebay::sim
