// The write-back buffer, in virtual time: an access that evicts a page with dirty bytes does not
// wait for storage (Settlemyer 7.4.3).
#include <gtest/gtest.h>

#include <algorithm>
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

constexpr int64_t page_size = 4096;
constexpr int64_t pages_of_the_cache = 8;

class Background final : public sim::VirtualHelper {
 public:
  Background(VirtualNode& node, const VirtualFile& file) : node_(node), file_(file) {}
  void commit(WriteBehind) override {}
  void fetch(std::span<const Extent>) override {}
  bool write_back() override {
    ++asked;
    node_.fibers().wake(work_);
    return true;
  }
  void serve() {
    for (int done = 0; done < asked || !stop;) {
      for (; done < asked; done = asked) static_cast<void>(node_.cache().write_back(file_));
      if (!stop) node_.fibers().wait(work_);
    }
  }
  void end() {
    stop = true;
    node_.fibers().wake(work_);
  }
  int asked = 0;
  bool stop = false;

 private:
  VirtualNode& node_;
  VirtualFile file_;
  Fibers::Queue work_;
};

struct Times {
  int64_t longest_write_ns = 0;
  int64_t pages_lost = 0;  // written, and not in storage at the end
};

std::byte value_of(int64_t page) { return static_cast<std::byte>(page + 1); }

// One rank writes `pages` pages in a row.
Times write_pages(double write_back_buffer, int64_t pages) {
  Times times;
  Fibers fibers(1);
  FaultyStorage storage(fibers, {}, 0, 1, [](int64_t, std::span<const std::byte>) {});
  const CacheShape shape{
      find_page_kind("mask"), find_policy("lru"), page_size, page_size * pages_of_the_cache, 1,
      write_back_buffer};
  Storage* const storages[] = {&storage};
  VirtualNode node(fibers, shape, storages, UINT32_MAX / 2);
  fibers.spawn(1, [&] {
    Statistics statistics;
    bool joined = false;
    VirtualFile file(node, node.take_seat(0, 1, &joined), 0, statistics, 1 << 20);
    Background background(node, file);
    file.use_helper(background);
    Fibers::Event served;
    fibers.spawn(1, [&] {
      background.serve();
      fibers.happen(served);
    });
    HandleRules rules;
    rules.dirty_bound = 1;
    rules.step_aside = SteppingAside::never;
    rules.predictor = &predictors()[0];
    CacheHandle<sim::VirtualDriver> handle(node.cache(), file, rules, true, false);
    for (int64_t page = 0; page < pages; ++page) {
      const std::vector<std::byte> bytes(page_size, value_of(page));
      const int64_t begin = fibers.now_ns();
      EXPECT_TRUE(handle.write(Extent{page * page_size, page_size}, bytes.data()).ok());
      times.longest_write_ns = std::max(times.longest_write_ns, fibers.now_ns() - begin);
    }
    background.end();
    fibers.wait(served);
    EXPECT_TRUE(handle.commit().ok());
  });
  EXPECT_TRUE(fibers.run(100'000));
  for (int64_t page = 0; page < pages; ++page) {
    const auto first = static_cast<std::size_t>(page * page_size);
    if (storage.bytes().size() < first + page_size || storage.bytes()[first] != value_of(page))
      ++times.pages_lost;
  }
  return times;
}

TEST(WriteBackBuffer, AnEvictionDoesNotWaitForStorage) {
  const int64_t buffer = pages_of_the_cache / 2;             // pages
  const Times times = write_pages(0.5, pages_of_the_cache);  // half of them are evicted
  EXPECT_EQ(times.longest_write_ns, 0);
  EXPECT_EQ(times.pages_lost, 0);
  // When the buffer is full, an access waits as without one.
  const Times beyond = write_pages(0.5, pages_of_the_cache + 4 * buffer);
  EXPECT_GT(beyond.longest_write_ns, 0);
  EXPECT_EQ(beyond.pages_lost, 0);
}

TEST(WriteBackBuffer, WithoutOneAnEvictionWaits) {
  const Times times = write_pages(0, pages_of_the_cache + 1);
  EXPECT_GT(times.longest_write_ns, 0);
  EXPECT_EQ(times.pages_lost, 0);
}

}  // namespace
}  // namespace forebay::test
