// Stretches of activity with known answers, also from parts merged in any order.
#include "trace/activity.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>
#include <vector>

#include "trace/routine.h"
#include "trace/table.h"

namespace forebay::trace {
namespace {

std::vector<std::tuple<int32_t, bool, int64_t, int64_t, uint64_t, uint64_t>> rows(
    const Activity& activity, int64_t pause_ns) {
  std::vector<std::tuple<int32_t, bool, int64_t, int64_t, uint64_t, uint64_t>> all;
  for (const Stretch& one : activity.stretches(pause_ns))
    all.emplace_back(one.file, one.writes, one.start_ns, one.end_ns, one.accesses, one.bytes);
  return all;
}

constexpr uint8_t code(Operation what) { return static_cast<uint8_t>(what); }

void add_row(Activity& activity, int32_t file, bool writes, int64_t start_ns, int64_t end_ns,
             int64_t bytes) {
  const uint8_t what = code(writes ? Operation::write : Operation::read), folded = 0;
  activity.add({{&file, 1}, {&what, 1}, {&folded, 1}, {&bytes, 1}, {&start_ns, 1}, {&end_ns, 1}});
}

TEST(TraceActivity, OnlyReadsAndWritesOfFilesCount) {
  const std::vector<int32_t> file{0, -1, 0, 0, 0, 0, 1};
  const std::vector<uint8_t> what{
      code(Operation::write), code(Operation::write), code(Operation::seek), code(Operation::write),
      code(Operation::read),  code(Operation::read),  code(Operation::read)};
  const std::vector<uint8_t> folded{0, 0, 0, 0, 1, 0, 0};
  const std::vector<int64_t> bytes{10, 10, 10, 0, 10, 10, 20};
  const std::vector<int64_t> start{5, 5, 5, 5, 5, 5, 6}, end{9, 9, 9, 9, 9, no_time, 7};
  Activity activity;
  activity.add({file, what, folded, bytes, start, end});
  EXPECT_EQ(activity.left_out(), (LeftOut{1, 2}));
  const auto found = rows(activity, 0);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0], std::make_tuple(0, true, 5, 9, 1, 10));
  EXPECT_EQ(found[1], std::make_tuple(1, false, 6, 7, 1, 20));
}

TEST(TraceActivity, APausePartsStretches) {
  constexpr int64_t ms = 1'000'000;
  Activity activity;
  // In no order: two bursts of writes, and one read that lasts from the first burst to the second.
  for (int64_t i = 9; i >= 0; --i) {
    activity.add(0, true, 500 * ms + i * ms, 500 * ms + i * ms + 100, 10);
    activity.add(0, true, i * ms, i * ms + 100, 10);
  }
  activity.add(0, false, 5 * ms, 505 * ms, 7);
  activity.add(1, true, 999 * ms, 1000 * ms, 1);
  const auto found = rows(activity, 50 * ms);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0], std::make_tuple(0, true, 0, 9 * ms + 100, 10, 100));
  EXPECT_EQ(found[1], std::make_tuple(0, false, 5 * ms, 505 * ms, 1, 7));
  EXPECT_EQ(found[2], std::make_tuple(0, true, 500 * ms, 509 * ms + 100, 10, 100));
  EXPECT_EQ(found[3], std::make_tuple(1, true, 999 * ms, 1000 * ms, 1, 1));
  EXPECT_EQ(rows(activity, 600 * ms).size(), 3u);
}

TEST(TraceActivity, ExtremeTimesFit) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min() + 1;
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  Activity activity;
  activity.add(0, true, least, least, 1);
  activity.add(0, true, most, least, 1);  // a clock ran backwards
  activity.add(0, true, -5, most, 1);
  EXPECT_EQ(rows(activity, 0).front(), std::make_tuple(0, true, least, least, 1, 1));
}

TEST(TraceActivity, PartsPutTogetherAreTheWhole) {
  std::mt19937_64 draw(11);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(draw() % limit); };
  for (int job = 0; job < 200; ++job) {
    const int64_t scale = int64_t{1} << below(45);
    Activity whole;
    std::vector<Activity> parts(4);
    for (int i = 0; i < 60; ++i) {
      const int64_t start = below(1000) * scale - 300 * scale, bytes = below(100);
      const auto file = static_cast<int32_t>(below(3));
      const bool writes = below(2) == 0;
      const int64_t end = start + below(20) * scale;
      Activity& part = parts[below(4)];
      for (Activity* one : {&whole, &part}) {
        add_row(*one, file, writes, i % 13 == 0 ? no_time : start, end, bytes);
      }
    }
    Activity together;
    for (const Activity& part : parts) {
      Bytes bytes;
      ByteWriter writer(bytes);
      part.write(writer);
      Activity carried;
      ByteReader reader(bytes);
      ASSERT_TRUE(carried.read(reader));
      together.merge(carried);
    }
    EXPECT_EQ(together.left_out(), whole.left_out());
    EXPECT_GT(whole.left_out().untimed, 0u);
    for (const int64_t pause : {int64_t{0}, 10 * scale, 100 * scale})
      EXPECT_EQ(rows(together, pause), rows(whole, pause));
  }
}

}  // namespace
}  // namespace forebay::trace
