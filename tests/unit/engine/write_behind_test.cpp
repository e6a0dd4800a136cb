// Write-behind leaves pages that lack bytes where nodes hand their bytes over, or handles write the
// same pages: the others' bytes would follow in requests of their own.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/cache_handle.h"
#include "predict/predictor.h"
#include "unit/engine/one_file_cache.h"

namespace forebay::sim {
namespace {

constexpr int64_t page_bytes = 4096;
constexpr int64_t pages_of_cache = 64;

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
  OneFileCache<InstantDriver> cache_{one_shard(page_bytes, pages_of_cache)};
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

// What other handles do while one waits, and the time.
std::function<void()> meanwhile;
int64_t wait_clock_ns = 0;

struct SharedFile : InstantFile {
  explicit SharedFile(const InstantFile& opened) : InstantFile(opened) {}

  uint32_t number() const { return static_cast<uint32_t>(std::countr_zero(written_as)); }
  void ends_of_others(std::vector<HandleEnd>& ends) const {
    ends.clear();
    for (uint32_t handle = 0; handle < file->opened.size(); ++handle) {
      if (file->opened[handle] != this) ends.push_back({handle, file->opened[handle]->end});
    }
  }
  void pause() const {
    wait_clock_ns += 1'000'000;
    if (meanwhile) meanwhile();
  }
};

class PausingDriver : public InstantDriver {
 public:
  using OpenFile = SharedFile;
  using InstantDriver::InstantDriver;
  static int64_t now_ns() { return wait_clock_ns; }
};

// A fast handle writes the first halves of pages, a slow one the second.
class HandlesThatShare : public testing::Test {
 protected:
  HandlesThatShare() {
    meanwhile = {};
    wait_clock_ns = 0;
    write_both(pages_of_cache / 4 + 1);
    commit_full_pages();
    committed_before_ = cache_.statistics().committed_bytes;
  }
  ~HandlesThatShare() override { meanwhile = {}; }

  void write_fast() { write(fast_, fast_page_++ * page_bytes); }
  void write_slow() { write(slow_, slow_page_++ * page_bytes + page_bytes / 2); }
  void skip_fast() { ++fast_page_; }
  void skip_slow() { ++slow_page_; }
  void write_both(int64_t pages) {
    for (int64_t page = 0; page < pages; ++page) {
      write_fast();
      write_slow();
    }
  }
  int64_t committed_bytes() const {
    return cache_.statistics().committed_bytes - committed_before_;
  }
  int64_t waits() const { return cache_.statistics().pace_waits; }
  bool share() const { return cache_.state().shares_pages.load() == SharesPages::yes; }
  int64_t fast_page() const { return fast_page_; }
  int64_t slow_page() const { return slow_page_; }
  void commit_full_pages() {
    (void)cache_.cache().commit_some(cache_.file(), {0, Partial::leave});  // as write-behind does
  }
  PartialPages partial_pages() { return cache_.cache().partial_pages(cache_.file()); }

 private:
  using Handle = CacheHandle<PausingDriver>;
  static void write(Handle& handle, int64_t offset) {
    EXPECT_TRUE(handle.write(Extent{offset, page_bytes / 2}, NoBytes{}).ok());
  }

  OneFileCache<PausingDriver> cache_{one_shard(page_bytes, pages_of_cache)};
  Handle fast_{cache_.cache(), cache_.file(), writing_behind(false), true, false};
  Handle slow_{cache_.cache(), cache_.open(), writing_behind(false), true, false};
  int64_t fast_page_ = 0, slow_page_ = 0;
  int64_t committed_before_ = 0;
};

TEST_F(HandlesThatShare, AreFoundByTheirPages) { EXPECT_TRUE(share()); }

TEST_F(HandlesThatShare, LeavePagesUpToTheBound) {
  for (int64_t page = 0; page < pages_of_cache / 2; ++page) write_fast();
  EXPECT_EQ(committed_bytes(), 0);
  EXPECT_EQ(waits(), 0);
}

TEST_F(HandlesThatShare, WaitForTheSlowOne) {
  meanwhile = [this] { write_slow(); };
  for (int64_t page = 0; page < 2 * pages_of_cache; ++page) write_fast();
  EXPECT_GT(waits(), 0);
  EXPECT_GT(committed_bytes(), pages_of_cache * page_bytes);
  EXPECT_EQ(committed_bytes() % page_bytes, 0);  // pages left complete
}

TEST_F(HandlesThatShare, DoNotWaitAgainForOneThatHasStopped) {
  for (int64_t page = 0; page < pages_of_cache; ++page) write_fast();
  EXPECT_EQ(waits(), 1);
  EXPECT_LT(wait_clock_ns, 100'000'000);
  EXPECT_GT(committed_bytes(), 0);
}

TEST_F(HandlesThatShare, DoNotHoldUpTheSlowOne) {
  for (int64_t page = 0; page < pages_of_cache / 2; ++page) write_fast();
  const int64_t pages = fast_page();
  for (int64_t page = 0; page < pages / 2; ++page) write_slow();
  EXPECT_EQ(waits(), 0);
  EXPECT_EQ(committed_bytes() % page_bytes, 0);
}

// The slow handle has left out some pages. Those ahead of it may still become complete.
TEST_F(HandlesThatShare, CommitPagesThatAllHavePassed) {
  constexpr int64_t left_out = pages_of_cache / 2 - 4;
  for (int64_t page = 0; page < left_out; ++page) {
    write_fast();
    skip_slow();
  }
  write_slow();
  while (committed_bytes() <= page_bytes) write_fast();  // one page is complete
  EXPECT_TRUE(share());
  EXPECT_EQ(waits(), 0);
  EXPECT_GT(fast_page(), slow_page());
  const int64_t committed_pages = (committed_bytes() - page_bytes) / (page_bytes / 2);
  while (slow_page() < fast_page()) write_slow();
  commit_full_pages();
  EXPECT_EQ(partial_pages().pages, left_out - committed_pages);
}

TEST_F(HandlesThatShare, DoNotWaitForBytesThatNobodyWrites) {
  for (int64_t page = 0; page < 2 * pages_of_cache; page += 2) {
    write_both(1);
    write_fast();
    skip_slow();
  }
  EXPECT_EQ(waits(), 0);
  EXPECT_LE(partial_pages().pages, pages_of_cache / 2);
}

TEST_F(HandlesThatShare, AreNotLookedForWhereNoPageBecomesComplete) {
  for (int64_t page = 0; share() && page < 2 * pages_of_cache; page += 2) {
    write_fast();
    skip_slow();
    skip_fast();
    write_slow();
  }
  EXPECT_FALSE(share());
  EXPECT_EQ(waits(), 0);
}

// From the beginning, before a page has all its bytes.
TEST(WriteBehindFromTheBeginning, LeavesPagesToWhichSeveralHandlesWrite) {
  for (const bool several : {false, true}) {
    OneFileCache<PausingDriver> cache(one_shard(page_bytes, pages_of_cache));
    CacheHandle<PausingDriver> one(cache.cache(), cache.file(), writing_behind(false), true, false);
    CacheHandle<PausingDriver> other(cache.cache(), cache.open(), writing_behind(false), true,
                                     false);
    for (int64_t page = 0; page < pages_of_cache / 2; ++page) {
      EXPECT_TRUE(one.write(Extent{page * page_bytes, 100}, NoBytes{}).ok());
      CacheHandle<PausingDriver>& next = several ? other : one;
      EXPECT_TRUE(next.write(Extent{page * page_bytes + 200, 100}, NoBytes{}).ok());
    }
    (void)cache.cache().commit_some(cache.file(), {0, Partial::leave_shared});
    EXPECT_EQ(cache.statistics().committed_bytes == 0, several);
    EXPECT_EQ(cache.state().shares_pages.load() == SharesPages::yes, several);
    const PartialPages partial = cache.cache().partial_pages(cache.file());
    EXPECT_EQ(partial.pages, several ? pages_of_cache / 2 : 0);
    EXPECT_EQ(partial.runs, 2 * partial.pages);
    (void)cache.cache().commit_some(cache.file(), {0, Partial::commit, 5 * page_bytes + 100});
    EXPECT_EQ(cache.cache().partial_pages(cache.file()).pages,
              several ? pages_of_cache / 2 - 5 : 0);
  }
}

}  // namespace
}  // namespace forebay::sim
