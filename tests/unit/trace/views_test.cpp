// The runs of an access through a view, and views that do not exist.
#include "trace/views.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <vector>

namespace forebay::trace {
namespace {

// 3 blocks of 4 bytes at steps of 10, from byte 100 on, of every 50 bytes.
const Views shifted{{{Layout::block(1), 0, 1}, {Layout::repeat(3, 10, Layout::block(4)), 100, 50}}};

std::vector<Extent> runs_of(int64_t view, int64_t position, int64_t bytes) {
  std::vector<Extent> all;
  Runs runs(*shifted.find(view), position, bytes);
  EXPECT_TRUE(runs.exist());
  for (Extent run; runs.next(run);) all.push_back(run);
  return all;
}

TEST(TraceViews, OthersThanThoseInTheListAreNone) {
  EXPECT_EQ(shifted.find(-1), nullptr);
  EXPECT_EQ(shifted.find(1), &shifted.tilings[1]);
  EXPECT_EQ(shifted.find(2), nullptr);
  EXPECT_EQ(shifted.find(std::numeric_limits<int64_t>::max()), nullptr);
}

TEST(TraceViews, RunsOfAnAccessAreThoseOfItsBytes) {
  EXPECT_EQ(runs_of(0, 7, 90), (std::vector<Extent>{{7, 90}}));
  EXPECT_EQ(runs_of(1, 2, 13), (std::vector<Extent>{{102, 2}, {110, 4}, {120, 4}, {150, 3}}));
  EXPECT_TRUE(runs_of(1, 2, 0).empty());
}

TEST(TraceViews, BytesBeyondEveryFileHaveNoRuns) {
  Runs runs(shifted.tilings[1], std::numeric_limits<int64_t>::max() - 5, 5);
  EXPECT_FALSE(runs.exist());
  Extent run;
  EXPECT_FALSE(runs.next(run));
}

TEST(TraceViews, RunsOutliveTheirView) {
  auto tiling = std::make_unique<Tiling>(shifted.tilings[1]);
  Runs runs(*tiling, 0, 6);
  tiling.reset();
  Extent run;
  ASSERT_TRUE(runs.next(run));
  ASSERT_TRUE(runs.next(run));
  EXPECT_EQ(run, (Extent{110, 2}));
}

}  // namespace
}  // namespace forebay::trace
