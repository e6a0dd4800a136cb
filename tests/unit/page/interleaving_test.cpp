// Lock-free page kinds in every interleaving of two operations: the processor's single-step trap
// stops the first one after each of its instructions in turn, and the second one runs completely
// there. (page_concurrency_test.cpp covers reordering by the processor.)
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "page/page_kind.h"
#include "unit/page/model.h"
#include "unit/page/single_step.h"

namespace forebay {
namespace {

constexpr int64_t tiny_page_size = 192;  // smaller than any real page: few instructions to stop at
constexpr int64_t most_stops = 5000;

struct Memory {
  alignas(64) std::byte state[4 * tiny_page_size];
  std::byte page[tiny_page_size];
  std::byte storage[tiny_page_size];
  bool held;
};

class Page {
 public:
  explicit Page(const PageKind& kind) : kind_(kind) {
    EXPECT_LE(kind.state_bytes(tiny_page_size), sizeof(Memory::state));
    taken_.reserve(tiny_page_size);
  }

  void reset() {
    memory_ = {};
    kind_.reset(memory_.state, tiny_page_size);
  }
  void write(Extent region, int value) {
    std::memset(memory_.page + region.offset, value, static_cast<std::size_t>(region.length));
    kind_.publish(memory_.state, tiny_page_size, region);
  }
  void commit() {
    taken_.clear();
    kind_.take_dirty(memory_.state, tiny_page_size, taken_);
    for (const Extent region : taken_) {
      std::memcpy(memory_.storage + region.offset, memory_.page + region.offset,
                  static_cast<std::size_t>(region.length));
    }
    kind_.settle(memory_.state, tiny_page_size, true);
  }
  void commit_in_vain() {
    taken_.clear();
    kind_.take_dirty(memory_.state, tiny_page_size, taken_);
    kind_.settle(memory_.state, tiny_page_size, false);
  }
  void look(Extent region) { memory_.held = kind_.holds(memory_.state, tiny_page_size, region); }
  bool held() const { return memory_.held; }
  // After a last commit.
  bool equals_storage() {
    commit();
    return std::memcmp(memory_.page, memory_.storage, tiny_page_size) == 0;
  }

 private:
  const PageKind& kind_;
  Memory memory_;
  Regions taken_;  // large enough never to allocate, which a signal handler must not do
};

using Work = std::function<void()>;

#ifdef FOREBAY_SINGLE_STEP
// Runs `stepped` for `steps` instructions, then `between`, then the rest of `stepped`. False:
// `stepped` ended before.
bool interleave(const Work& stepped, int64_t steps, const Work& between) {
  test::single_step(stepped, [&] {
    if (steps-- > 0) return true;
    between();
    return false;
  });
  return steps < 0;
}
#endif

class PageInterleaving : public testing::TestWithParam<const PageKind*> {
 protected:
  // Prepares, interleaves and checks, at every third point of `stepped`, because traps are slow.
  // Each call begins at another point, so the regions of a test together cover all points.
  void all_along([[maybe_unused]] Page& page, [[maybe_unused]] const Work& prepare,
                 [[maybe_unused]] const Work& stepped, [[maybe_unused]] const Work& between,
                 [[maybe_unused]] const std::function<bool()>& right) {
#ifdef FOREBAY_SINGLE_STEP
    static int64_t calls = 0;
    for (int64_t steps = calls++ % 3; steps < most_stops; steps += 3) {
      page.reset();
      prepare();
      if (!interleave(stepped, steps, between)) return;
      ASSERT_TRUE(right()) << "after " << steps << " instructions";
    }
    FAIL() << "the operation does not end";
#else
    GTEST_SKIP() << "needs single steps of x86-64, and none of a sanitizer's instructions";
#endif
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, PageInterleaving, testing::ValuesIn(test::lock_free_kinds()),
                         [](const auto& param) { return std::string(param.param->name()); });

// Relative to the bytes [64, 164), which are dirty before: within a full word; across words; new
// bits in a partly dirty word, by single bits and by whole bytes of the mask.
const Extent near_dirty[] = {{67, 9}, {60, 100}, {150, 30}, {168, 16}};

constexpr Extent dirty_before{64, 100};
constexpr Extent neighbour{66, 95};

TEST_P(PageInterleaving, AWriteDuringACommitIsCommitted) {
  Page page(*GetParam());
  const Work prepare = [&] { page.write(dirty_before, 1); };
  const Work commit = [&] { page.commit(); };
  for (const Extent region : near_dirty) {
    const Work write = [&] { page.write(region, 2); };
    all_along(page, prepare, commit, write, [&] { return page.equals_storage(); });
  }
}

TEST_P(PageInterleaving, ACommitDuringAWriteLosesNothing) {
  Page page(*GetParam());
  const Work prepare = [&] { page.write(dirty_before, 1); };
  const Work commit = [&] { page.commit(); };
  for (const Extent region : near_dirty) {
    const Work write = [&] { page.write(region, 2); };
    all_along(page, prepare, write, commit, [&] { return page.equals_storage(); });
  }
}

TEST_P(PageInterleaving, ACommitThatFailsLosesNothing) {
  Page page(*GetParam());
  const Work prepare = [&] { page.write(dirty_before, 1); };
  const Work commit = [&] { page.commit_in_vain(); };
  for (const Extent region : {near_dirty[1], near_dirty[2]}) {
    const Work write = [&] { page.write(region, 2); };
    all_along(page, prepare, commit, write, [&] { return page.equals_storage(); });
    all_along(page, prepare, write, commit, [&] { return page.equals_storage(); });
  }
}

TEST_P(PageInterleaving, TwoWritesBothCount) {
  Page page(*GetParam());
  const Work nothing = [] {};
  const Work other = [&] { page.write(neighbour, 2); };
  for (const Extent region : near_dirty) {
    const Work write = [&] { page.write(region, 1); };
    all_along(page, nothing, write, other, [&] { return page.equals_storage(); });
  }
}

TEST_P(PageInterleaving, BytesStayHeldWhileTheyAreTaken) {
  Page page(*GetParam());
  const Work prepare = [&] { page.write({0, 170}, 1); };
  const Work commit = [&] { page.commit(); };
  const Work look = [&] { page.look({60, 100}); };
  const auto held = [&] { return page.held(); };
  const Work commit_in_vain = [&] { page.commit_in_vain(); };
  all_along(page, prepare, commit, look, held);
  all_along(page, prepare, look, commit, held);
  all_along(page, prepare, commit_in_vain, look, held);
}

}  // namespace
}  // namespace forebay
