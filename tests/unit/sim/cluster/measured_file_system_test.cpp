// A file system of which only the times are known: a request alone, requests together, nodes
// together, closes.
#include "sim/cluster/measured_file_system.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace forebay::sim {
namespace {

// Two nodes, each with a file system's mount.
class MeasuredTest : public ::testing::Test {
 protected:
  MeasuredTest() : network(kernel, {}, 3) {
    profile.write = {100 * microsecond, 1e9, 40 * microsecond, 2e9};
    profile.read = {300 * microsecond, 1e9, 0, 1e12};
    profile.read_written = {10 * microsecond, 1e12, 0, 1e12};
    profile.read_reopened = {200 * microsecond, 1e12, 0, 1e12};
    profile.create = 5 * millisecond;
    profile.open = 2 * millisecond;
    profile.close = 1 * millisecond;
    profile.full_speed_nodes = 2;
  }

  MeasuredFileSystem& files() {
    if (!made) made = std::make_unique<MeasuredFileSystem>(kernel, network, profile, 2, none);
    return *made;
  }
  // Of a process: when it has written or read.
  void move(uint32_t node, bool writes, const std::vector<Extent>& extents, uint64_t file = 0) {
    Completion done;
    files().access(node, file, writes, extents, done.then());
    done.wait();
  }
  // Returns when the last of these processes ends.
  Picoseconds run(const std::vector<std::function<void()>>& processes) {
    std::vector<std::unique_ptr<Process>> all;
    Picoseconds end = 0;
    const Picoseconds began = kernel.now();
    for (const auto& work : processes) {
      all.push_back(std::make_unique<Process>(kernel, [&, work] {
        work();
        end = std::max(end, kernel.now());
      }));
    }
    EXPECT_TRUE(kernel.run());
    return end - began;
  }

  Kernel kernel;
  Network network;
  MeasuredProfile profile;
  ServerStorage* one = nullptr;  // no request comes to it
  std::vector<ServerStorage*> none{one};
  std::unique_ptr<MeasuredFileSystem> made;
};

TEST_F(MeasuredTest, ARequestTakesItsTimeAlone) {
  const Picoseconds time = run({[&] { move(0, true, {{0, 1'000'000}}); }});
  EXPECT_EQ(time, 1100 * microsecond);  // 100 us, and 1 MB at 1 GB/s
}

TEST_F(MeasuredTest, RequestsOfANodeShareItsDoor) {
  // Ten small ones would end together after 100 us; the door takes 40 us for each.
  std::vector<std::function<void()>> ten(10, [&] { move(0, true, {{0, 1}}); });
  const Picoseconds time = run(ten);
  EXPECT_GE(time, 400 * microsecond);
  EXPECT_LT(time, 401 * microsecond);
}

TEST_F(MeasuredTest, NodesShareWhatTheFileSystemGives) {
  const auto both = [&](double full_speed_nodes) {
    made.reset();
    profile.full_speed_nodes = full_speed_nodes;
    std::vector<std::function<void()>> twenty;
    for (uint32_t p = 0; p < 20; ++p) twenty.push_back([&, p] { move(p % 2, true, {{0, 1}}); });
    return run(twenty);
  };
  EXPECT_LT(both(2), 401 * microsecond);
  EXPECT_GE(both(1), 800 * microsecond);
}

TEST_F(MeasuredTest, ReadsAndWritesHaveDoorsOfTheirOwn) {
  profile.full_speed_nodes = 1;
  profile.read.together = profile.write.together = 100 * microsecond;
  files().place(0, 1);
  std::vector<std::function<void()>> both;
  for (uint32_t p = 0; p < 20; ++p) both.push_back([&, p] { move(0, p % 2 == 0, {{0, 1}}); });
  const Picoseconds time = run(both);
  EXPECT_LT(time, 1001 * microsecond);
  EXPECT_LE(files().counts(0).busy, time);
  EXPECT_GE(files().counts(0).busy, 1000 * microsecond);
}

TEST_F(MeasuredTest, AnAccessMakesAFewRequestsAtOnce) {
  profile.write.together = 0;
  const std::vector<Extent> eight = {{0, 1},  {10, 1}, {20, 1}, {30, 1},
                                     {40, 1}, {50, 1}, {60, 1}, {70, 1}};
  const auto with = [&](int64_t at_once) {
    made.reset();
    profile.requests_at_once = at_once;
    return run({[&] { move(0, true, eight); }}) / (100 * microsecond);
  };
  EXPECT_EQ(with(1), 8);
  EXPECT_EQ(with(4), 2);
  EXPECT_EQ(files().requests(), 8);
}

TEST_F(MeasuredTest, ReadsDependOnWhereTheBytesCameFrom) {
  files().place(7, 1000);
  const auto reading = [&](uint64_t file) {
    return run({[&] { move(0, false, {{0, 1}}, file); }});
  };
  EXPECT_GE(reading(7), 300 * microsecond);
  run({[&] {
    files().create(0, 1);
    files().open(0, 1);
    move(0, true, {{0, 1000}}, 1);
  }});
  EXPECT_LT(reading(1), 11 * microsecond);
  run({[&] {
    files().close(0, 1);
    files().open(0, 1);
  }});
  const Picoseconds reopened = reading(1);
  EXPECT_GE(reopened, 200 * microsecond);
  EXPECT_LT(reopened, 201 * microsecond);
  EXPECT_EQ(files().size(1), 1000);
}

TEST_F(MeasuredTest, TheFirstCloseWaitsForWhatTheNodeWrote) {
  profile.close_rate = 1e8;
  run({[&] {
    files().open(0, 1);
    files().open(0, 1);
    move(0, true, {{0, 1'000'000}}, 1);
  }});
  EXPECT_EQ(run({[&] { files().close(0, 1); }}), 11 * millisecond);
  EXPECT_EQ(run({[&] { files().close(0, 1); }}), 1 * millisecond);
}

}  // namespace
}  // namespace forebay::sim
