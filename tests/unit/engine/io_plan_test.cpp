// Lists of requests: what touches becomes one run, wherever its bytes are.
#include "engine/io_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace forebay {
namespace {

std::vector<Extent> extents_of(const IoPlan& plan) {
  std::vector<Extent> all;
  for (const IoPlan::Run& run : plan.runs()) all.push_back(run.extent);
  return all;
}

TEST(IoPlan, RegionsThatTouchAreOneRun) {
  IoPlan plan;
  plan.add(0, 4096, {96, 4000});
  plan.add(1, 8192, {0, 100});
  plan.add(1, 8192, {200, 50});
  EXPECT_EQ(extents_of(plan), (std::vector<Extent>{{4192, 4100}, {8392, 50}}));
  EXPECT_EQ(plan.bytes(), 4150);
}

TEST(IoPlan, ReceivedRunsFillTheGapsOfPages) {
  IoPlan plan;  // records of 100 bytes, every other one of another node
  plan.add(3, 4096, {0, 100});
  plan.add(3, 4096, {200, 100});
  const std::vector<Received> received{{{4196, 100}, 1, 16}, {{4396, 100}, 0, 48}};
  plan.merge(received);
  ASSERT_EQ(extents_of(plan), (std::vector<Extent>{{4096, 400}}));
  ASSERT_EQ(plan.runs()[0].parts, 4u);
  const std::vector<IoPlan::Part>& parts = plan.parts();
  EXPECT_EQ(parts[0].frame, 3u);
  EXPECT_EQ(parts[0].staged, IoPlan::in_frame);
  EXPECT_EQ(parts[1].staged, 1u);
  EXPECT_EQ(parts[1].in_page, 16);
  EXPECT_EQ(parts[2].in_page, 200);
  EXPECT_EQ(parts[3].staged, 0u);
  EXPECT_EQ(parts[3].in_page, 48);
  EXPECT_EQ(plan.bytes(), 400);
}

TEST(IoPlan, ReceivedRunsMayStandAlone) {
  IoPlan plan;
  const std::vector<Received> received{{{900, 10}, 0, 0}, {{100, 20}, 2, 30}};
  plan.merge(received);
  EXPECT_EQ(extents_of(plan), (std::vector<Extent>{{100, 20}, {900, 10}}));
}

}  // namespace
}  // namespace forebay
