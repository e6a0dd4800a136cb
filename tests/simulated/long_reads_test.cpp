// Reads that are so long that they go past the cache, in virtual time: where the program pauses
// between them, the pause hides storage's time.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "engine/cache_handle.h"
#include "sim/virtual_node.h"
#include "simulated/faulty_storage.h"

namespace forebay::test {
namespace {

using sim::Fibers;
using sim::VirtualFile;
using sim::VirtualNode;

constexpr int64_t page_bytes = 64;
constexpr int64_t read_bytes = 4 * page_bytes;

class FetchingAhead final : public sim::VirtualHelper {
 public:
  FetchingAhead(VirtualNode& node, const VirtualFile& file) : node_(node), file_(file) {}
  void commit(WriteBehind) override {}
  bool write_back() override { return false; }
  void fetch(std::span<const Extent> extents) override {
    extents_.insert(extents_.end(), extents.begin(), extents.end());
    node_.fibers().wake(work_);
  }
  void serve() {
    while (!stop_ || !extents_.empty()) {
      const std::vector<Extent> extents = std::exchange(extents_, {});
      PageCursor pages(extents, page_bytes);
      while (node_.cache().prefetch(file_, pages)) {
      }
      if (!stop_ && extents_.empty()) node_.fibers().wait(work_);
    }
  }
  void end() {
    stop_ = true;
    node_.fibers().wake(work_);
  }

 private:
  VirtualNode& node_;
  VirtualFile file_;
  std::vector<Extent> extents_;
  bool stop_ = false;
  Fibers::Queue work_;
};

std::byte value_at(int64_t offset) { return static_cast<std::byte>(offset * 7 + offset / 256); }

// One rank reads long blocks, one of two, and pauses after each. `beside`: before each it reads
// another block past the cache, as of other nodes' bytes, for which it first asks them.
Statistics read_blocks(int64_t pause_ns, bool write_through = false, bool beside = false) {
  constexpr int64_t blocks = 64;
  Fibers fibers(1);
  std::vector<std::byte> bytes(2 * blocks * read_bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = value_at(static_cast<int64_t>(i));
  FaultyStorage storage(fibers, bytes, 0, 1, [](int64_t, std::span<const std::byte>) {});
  const CacheShape shape{
      find_page_kind("mask"), find_policy("lru"), page_bytes, 256 * page_bytes, 1, 0};
  Storage* const storages[] = {&storage};
  VirtualNode node(fibers, shape, storages, UINT32_MAX / 2);
  Statistics statistics, background;
  fibers.spawn(1, [&] {
    bool joined = false;
    sim::VirtualSeat& seat = node.take_seat(0, 1, &joined);
    VirtualFile file(node, seat, 0, statistics, 1 << 20);
    FetchingAhead helper(node, VirtualFile(node, seat, 0, background, 1 << 20));
    file.use_helper(helper);
    Fibers::Event served;
    fibers.spawn(1, [&] {
      helper.serve();
      fibers.happen(served);
    });
    HandleRules rules;
    rules.bypass_bytes = read_bytes;
    rules.step_aside = SteppingAside::never;
    rules.read_ahead_bytes = 16 * page_bytes;
    rules.predictor = &predictors()[0];
    CacheHandle<sim::VirtualDriver> handle(node.cache(), file, rules, true, false);
    if (write_through) {
      EXPECT_TRUE(handle.begin_write_through().ok());
    }
    for (int64_t block = 0; block < blocks; ++block) {
      std::vector<std::byte> got(read_bytes);
      int64_t moved = 0;
      if (beside) {
        const int64_t began_ns = fibers.now_ns();
        fibers.sleep(1'000'000);
        const Extent other{(2 * block + 1) * read_bytes, read_bytes};
        EXPECT_TRUE(handle.bypass_read(other, got.data(), &moved, began_ns).ok());
      }
      const Extent extent{2 * block * read_bytes, read_bytes};
      EXPECT_TRUE(handle.read(extent, got.data(), &moved).ok());
      EXPECT_EQ(moved, read_bytes);
      for (int64_t i = 0; i < moved; ++i)
        ASSERT_EQ(got[static_cast<std::size_t>(i)], value_at(extent.offset + i)) << block;
      if (pause_ns > 0) fibers.sleep(pause_ns);
    }
    if (write_through) handle.end_write_through();
    helper.end();
    fibers.wait(served);
  });
  EXPECT_TRUE(fibers.run(1'000'000));
  EXPECT_EQ(statistics.read_bytes, blocks * read_bytes * (beside ? 2 : 1));
  statistics.add(background);
  return statistics;
}

TEST(LongReads, AreServedFromTheCacheWhereTheProgramPauses) {
  const Statistics with_pauses = read_blocks(1'000'000);
  EXPECT_LE(with_pauses.bypass_calls, 6);  // until the pauses and the pattern are known
  EXPECT_EQ(with_pauses.ahead_used_pages * page_bytes,
            with_pauses.read_bytes - with_pauses.bypass_bytes);
  EXPECT_LT(with_pauses.ahead_late_pages, with_pauses.ahead_used_pages / 4);
  // The last window is fetched in vain.
  EXPECT_LE(with_pauses.ahead_pages - with_pauses.ahead_used_pages, 16);
}

TEST(LongReads, GoPastTheCacheWithoutPausesAndInAtomicMode) {
  for (const Statistics& past :
       {read_blocks(0), read_blocks(1'000'000, true), read_blocks(0, false, true)}) {
    EXPECT_EQ(past.bypass_bytes, past.read_bytes);
    EXPECT_EQ(past.ahead_pages, 0);
  }
}

}  // namespace
}  // namespace forebay::test
