// Where nodes hand their bytes over, write-behind leaves pages that lack bytes: the other nodes'
// would follow in requests of their own.
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "engine/cache_handle.h"
#include "predict/predictor.h"
#include "sim/instant_driver.h"

namespace forebay::sim {
namespace {

constexpr int64_t page_bytes = 4096;
constexpr int64_t pages_of_cache = 64;

class WriteBehindTest : public testing::TestWithParam<bool> {
 protected:
  WriteBehindTest()
      : arena_(shape(), 0),
        memory_(arena_.layout().data),
        driver_(files_),
        cache_(created(arena_, memory_), driver_) {
    files_.emplace_back();
    files_[0].id = files_at_once;
    file_.file = &files_[0];
    file_.counted = &statistics_;
    file_.commit_size = 1 << 20;
    file_.written_as = writer_of(0);
    files_[0].opened.push_back(&file_);
    HandleRules rules;
    rules.hands_over = GetParam();
    rules.step_aside = SteppingAside::never;
    rules.predictor = find_predictor("sequential");
    handle_ = std::make_unique<CacheHandle<InstantDriver>>(cache_, file_, rules, true, false);
  }

  // Writes the first `bytes` bytes of each of these pages.
  void write(int64_t first, int64_t pages, int64_t bytes) {
    for (int64_t page = first; page < first + pages; ++page)
      EXPECT_TRUE(handle_->write(Extent{page * page_bytes, bytes}, NoBytes{}).ok());
  }

  Statistics statistics_;

 private:
  static CacheShape shape() {
    return {.page_kind = find_page_kind("mask"),
            .policy = find_policy("lru"),
            .page_size = page_bytes,
            .capacity_bytes = pages_of_cache * page_bytes,
            .shards = 1};
  }
  static CacheArena& created(CacheArena& arena, LazyMemory& memory) {
    arena.create(memory.base());
    return arena;
  }

  std::deque<InstantFileState> files_;
  CacheArena arena_;
  LazyMemory memory_;
  InstantDriver driver_;
  Cache<InstantDriver> cache_;
  InstantFile file_;
  std::unique_ptr<CacheHandle<InstantDriver>> handle_;
};

INSTANTIATE_TEST_SUITE_P(HandsOver, WriteBehindTest, testing::Bool());

TEST_P(WriteBehindTest, LeavesPagesThatLackBytes) {
  write(0, pages_of_cache, page_bytes / 2);
  EXPECT_EQ(statistics_.committed_bytes == 0, GetParam());
}

TEST_P(WriteBehindTest, CommitsFullPages) {
  write(0, pages_of_cache / 2, page_bytes / 2);
  write(pages_of_cache / 2, pages_of_cache / 2, page_bytes);
  EXPECT_GT(statistics_.committed_bytes, page_bytes * pages_of_cache / 4);
  if (GetParam()) {
    EXPECT_EQ(statistics_.committed_bytes % page_bytes, 0);
  }
}

}  // namespace
}  // namespace forebay::sim
