// Block devices of the cluster simulator: a rotating disk, a flash drive, RAID groups.
#include "sim/cluster/disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "sim/cluster/flash.h"
#include "sim/cluster/raid.h"

namespace forebay::sim {
namespace {

struct DeviceAccess {
  bool writes;
  Extent place;
  bool operator==(const DeviceAccess&) const = default;
};

// Lets a device serve accesses in order, `depth` of them at a time.
struct DeviceLoad final : Event {
  DeviceLoad(Kernel& of, BlockDevice& on, std::vector<DeviceAccess> list, std::size_t depth)
      : kernel(of), device(on), accesses(std::move(list)), done(accesses.size()) {
    began.resize(accesses.size());
    took.resize(accesses.size());
    while (next < std::min(depth, accesses.size())) submit();
  }
  void submit() {
    began[next] = kernel.now();
    const DeviceAccess& access = accesses[next];
    device.submit(access.writes, access.place, {this, next++});
  }
  void happen(uint64_t word) override {
    ++done[word];
    took[word] = kernel.now() - began[word];
    order.push_back(word);
    if (next < accesses.size()) submit();
  }
  double mean() const {
    double sum = 0;
    for (Picoseconds time : took) sum += static_cast<double>(time);
    return sum / static_cast<double>(took.size());
  }

  Kernel& kernel;
  BlockDevice& device;
  std::vector<DeviceAccess> accesses;
  std::size_t next = 0;
  std::vector<int> done;
  std::vector<Picoseconds> began, took;
  std::vector<uint64_t> order;
};

std::vector<DeviceAccess> random_accesses(int64_t device_bytes, std::size_t count, int64_t length,
                                          double write_share = 0) {
  std::mt19937_64 random(7);
  std::vector<DeviceAccess> list;
  for (std::size_t i = 0; i < count; ++i) {
    const auto block = static_cast<int64_t>(random()) & INT64_MAX;
    const bool writes = static_cast<double>(random() % 1000) < write_share * 1000;
    list.push_back({writes, {block % (device_bytes / length) * length, length}});
  }
  return list;
}

std::vector<DeviceAccess> sequential_accesses(int64_t begin, std::size_t count, int64_t length,
                                              bool writes = false) {
  std::vector<DeviceAccess> list;
  for (std::size_t i = 0; i < count; ++i) {
    list.push_back({writes, {begin + static_cast<int64_t>(i) * length, length}});
  }
  return list;
}

constexpr double disk_revolution = 60e12 / 7200;

DiskProfile disk_without_caches(DiskScheduler scheduler) {
  DiskProfile profile = wd800jd();
  profile.track_cache_bytes = 0;
  profile.write_cache = false;
  profile.scheduler = scheduler;
  return profile;
}

// The time that a load takes.
Picoseconds time_on_disk(const DiskProfile& profile, const std::vector<DeviceAccess>& accesses,
                         std::size_t depth) {
  Kernel kernel;
  Disk disk(kernel, profile);
  DeviceLoad load(kernel, disk, accesses, depth);
  kernel.run();
  return kernel.now();
}

TEST(Disk, ProfilesHaveTheStatedCapacity) {
  EXPECT_NEAR(static_cast<double>(wd800jd().bytes()), 80.0e9, 0.1e9);
  EXPECT_EQ(published_simulator_disk().bytes(), int64_t{16'383} * 2 * 63 * 512);
  const double inner = static_cast<double>(wd800jd().zones.back().sectors_per_track);
  EXPECT_NEAR(inner / static_cast<double>(wd800jd().zones.front().sectors_per_track), 0.55, 0.01);
}

TEST(Disk, SeekCurveHasTheStatedMeanAndShortestSeek) {
  constexpr int64_t cylinders = 5000;
  const SeekCurve curve(cylinders, 2 * millisecond, 8'900 * microsecond);
  EXPECT_EQ(curve(0), 0);
  EXPECT_EQ(curve(1), 2 * millisecond);
  double sum = 0, pairs = 0;
  for (int64_t distance = 1; distance < cylinders; ++distance) {
    sum += static_cast<double>((cylinders - distance) * (curve(distance) / 1000));
    pairs += static_cast<double>(cylinders - distance);
    ASSERT_GE(curve(distance), curve(distance - 1));
  }
  EXPECT_NEAR(sum / pairs, 8.9e6, 1e3);
}

// Overhead, mean seek, half a revolution and the transfer itself.
TEST(Disk, RandomReadsTakeTheComputedTime) {
  for (const DiskProfile& profile :
       {disk_without_caches(DiskScheduler::fcfs), published_simulator_disk()}) {
    Kernel kernel;
    Disk disk(kernel, profile);
    DeviceLoad load(kernel, disk, random_accesses(disk.bytes(), 20'000, 4096), 1);
    kernel.run();
    const double track_bytes =
        static_cast<double>(disk.bytes()) / static_cast<double>(2 * profile.cylinders());
    const double expected = static_cast<double>(profile.controller_overhead) +
                            static_cast<double>(profile.read_seek_mean) + disk_revolution / 2 +
                            4096 / track_bytes * disk_revolution;
    RecordProperty("mean_us", static_cast<int>(load.mean() / 1e6));
    RecordProperty("expected_us", static_cast<int>(expected / 1e6));
    EXPECT_NEAR(load.mean() / expected, 1, 0.03);
    EXPECT_GT(disk.counts().seeks, 19'900u);
    EXPECT_EQ(disk.counts().busy, kernel.now());
  }
}

TEST(Disk, WritesSeekLonger) {
  Kernel kernel;
  Disk disk(kernel, disk_without_caches(DiskScheduler::fcfs));
  DeviceLoad load(kernel, disk, random_accesses(disk.bytes(), 10'000, 4096, 1), 1);
  kernel.run();
  EXPECT_NEAR(load.mean() / (300e6 + 10.9e9 + disk_revolution / 2), 1, 0.03);
}

TEST(Disk, SequentialReadsApproachTheMediaRate) {
  constexpr int64_t length = 64 << 10, count = 1600;
  const double seconds =
      static_cast<double>(time_on_disk(wd800jd(), sequential_accesses(0, count, length), 1)) / 1e12;
  const double rate = static_cast<double>(length * count) / seconds;
  // Of a cylinder's two tracks, with one head switch and one seek.
  const double cylinder_bytes = 2 * 1521 * 512;
  const double sustained = cylinder_bytes / (2 * disk_revolution + 3e9) * 1e12;
  RecordProperty("megabytes_per_second", static_cast<int>(rate / 1e6));
  EXPECT_LT(rate, sustained * 1.001);
  EXPECT_GT(rate, sustained * 0.97);
}

// The inner zone has 55 % of the outer one's sectors.
TEST(Disk, InnerZoneIsSlower) {
  constexpr int64_t length = 64 << 10;
  const DiskProfile profile = wd800jd();
  const auto outer = time_on_disk(profile, sequential_accesses(0, 800, length), 1);
  const int64_t inner_begin = profile.bytes() - 800 * length;
  const auto inner = time_on_disk(profile, sequential_accesses(inner_begin, 800, length), 1);
  EXPECT_NEAR(static_cast<double>(outer) / static_cast<double>(inner), 0.55, 0.03);
}

TEST(Disk, WhatWasReadAheadComesAtInterfaceSpeed) {
  Kernel kernel;
  Disk disk(kernel, wd800jd());
  DeviceLoad first(kernel, disk, {{false, {1 << 30, 64 << 10}}}, 1);
  kernel.run();
  kernel.after(20 * millisecond, {});
  kernel.run();
  DeviceLoad second(kernel, disk, {{false, {(1 << 30) + (64 << 10), 64 << 10}}}, 1);
  kernel.run();
  EXPECT_EQ(second.took[0], 300 * microsecond + time_of(64 << 10, 150e6));
  // A write there makes the cache forget it.
  DeviceLoad write(kernel, disk, {{true, {(1 << 30) + (64 << 10), 4096}}}, 1);
  kernel.run();
  DeviceLoad third(kernel, disk, {{false, {(1 << 30) + (64 << 10), 64 << 10}}}, 1);
  kernel.run();
  EXPECT_GT(third.took[0], second.took[0] + millisecond);
}

TEST(Disk, WriteCacheTakesWritesUntilItIsFull) {
  Kernel kernel;
  Disk disk(kernel, wd800jd());
  DeviceLoad load(kernel, disk, random_accesses(disk.bytes(), 200, 64 << 10, 1), 1);
  kernel.run();
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(load.took[i], 300 * microsecond + time_of(64 << 10, 150e6));
  }
  EXPECT_GT(*std::ranges::max_element(load.took), 4 * millisecond);
  EXPECT_EQ(std::ranges::count(load.done, 1), 200);
}

TEST(Disk, SchedulersServeAFullQueueFaster) {
  const auto accesses = random_accesses(wd800jd().bytes(), 3000, 4096);
  std::array<double, 3> times{};
  for (int i = 0; i < 3; ++i) {
    const auto scheduler = static_cast<DiskScheduler>(i);
    times[static_cast<std::size_t>(i)] =
        static_cast<double>(time_on_disk(disk_without_caches(scheduler), accesses, 64));
  }
  RecordProperty("fcfs_us", static_cast<int>(times[0] / 3000e6));
  RecordProperty("sstf_us", static_cast<int>(times[1] / 3000e6));
  RecordProperty("elevator_us", static_cast<int>(times[2] / 3000e6));
  EXPECT_LT(times[1], 0.7 * times[0]);
  EXPECT_LT(times[2], 0.7 * times[0]);
}

TEST(Disk, DoesEveryRequestOnceAndAlwaysTheSame) {
  for (const bool caches : {false, true}) {
    for (int i = 0; i < 3; ++i) {
      DiskProfile profile = wd800jd();
      if (!caches) profile = disk_without_caches(DiskScheduler::fcfs);
      profile.scheduler = static_cast<DiskScheduler>(i);
      auto accesses = random_accesses(profile.bytes(), 1500, 16 << 10, 0.4);
      const auto more = sequential_accesses(1 << 20, 500, 16 << 10);
      accesses.insert(accesses.begin() + 700, more.begin(), more.end());
      std::vector<std::vector<Picoseconds>> runs;
      for (int run = 0; run < 2; ++run) {
        Kernel kernel;
        Disk disk(kernel, profile);
        DeviceLoad load(kernel, disk, accesses, 50);
        EXPECT_TRUE(kernel.run());
        EXPECT_EQ(std::ranges::count(load.done, 1), 2000);
        EXPECT_EQ(disk.counts().reads + disk.counts().writes, 2000u);
        EXPECT_GE(disk.counts().longest_queue, 50u);
        runs.push_back(load.took);
      }
      EXPECT_EQ(runs[0], runs[1]);
    }
  }
}

// A far request comes among many near ones, which do not end: the elevator passes there once a
// sweep, the shortest seek never does.
TEST(Disk, ElevatorStarvesNobody) {
  const auto wait_of_far = [](DiskScheduler scheduler) {
    Kernel kernel;
    Disk disk(kernel, disk_without_caches(scheduler));
    auto accesses = random_accesses(int64_t{1} << 30, 2000, 4096);
    accesses[20] = {false, {disk.bytes() - 4096, 4096}};
    DeviceLoad load(kernel, disk, accesses, 32);
    kernel.run();
    return std::ranges::find(load.order, 20u) - load.order.begin();
  };
  EXPECT_LT(wait_of_far(DiskScheduler::elevator), 200);
  EXPECT_EQ(wait_of_far(DiskScheduler::sstf), 1999);
}

TEST(Disk, ElevatorMergesWhatFollows) {
  Kernel kernel;
  Disk disk(kernel, disk_without_caches(DiskScheduler::elevator));
  auto accesses = sequential_accesses(0, 16, 32 << 10, true);
  std::ranges::reverse(accesses);
  accesses.insert(accesses.begin(), {false, {int64_t{40} << 30, 4096}});
  DeviceLoad load(kernel, disk, accesses, 17);
  kernel.run();
  EXPECT_EQ(disk.counts().seeks, 2u);
  // Not a revolution each.
  EXPECT_LT(kernel.now(), 80 * millisecond);
  EXPECT_EQ(std::ranges::count(load.done, 1), 17);
}

TEST(Disk, RefusesWhatLiesOutside) {
  Kernel kernel;
  Disk disk(kernel, wd800jd());
  EXPECT_THROW(disk.submit(false, {disk.bytes() - 512, 1024}, {}), std::out_of_range);
  EXPECT_THROW(disk.submit(false, {-1, 1024}, {}), std::out_of_range);
  EXPECT_THROW(Disk(kernel, DiskProfile{}), std::invalid_argument);
}

TEST(Flash, RandomReadCostsTheLatency) {
  Kernel kernel;
  const FlashProfile profile;
  Flash flash(kernel, profile);
  DeviceLoad reads(kernel, flash, random_accesses(flash.bytes(), 1000, 4096), 1);
  kernel.run();
  EXPECT_EQ(kernel.now(), 1000 * profile.read_latency);
  EXPECT_EQ(flash.counts().busy, kernel.now());
  DeviceLoad writes(kernel, flash, random_accesses(flash.bytes(), 1000, 4096, 1), 1);
  kernel.run();
  EXPECT_EQ(kernel.now(), 1000 * (profile.read_latency + profile.write_latency));
}

TEST(Flash, BulkReachesTheNarrowestPart) {
  for (const double interface : {1e9, 3.5e9, 7e9}) {
    Kernel kernel;
    FlashProfile profile;
    profile.interface_bytes_per_second = interface;
    Flash flash(kernel, profile);
    DeviceLoad load(kernel, flash, sequential_accesses(0, 2000, 1 << 20), 16);
    kernel.run();
    const double rate = 2000.0 * (1 << 20) / static_cast<double>(kernel.now()) * 1e12;
    EXPECT_NEAR(rate / std::min(interface, 4e9), 1, 0.02);
  }
}

TEST(Flash, QueueDepthLimitsWhatIsUnderWay) {
  const auto time_with = [](int64_t queue_depth) {
    Kernel kernel;
    FlashProfile profile;
    profile.queue_depth = queue_depth;
    Flash flash(kernel, profile);
    DeviceLoad load(kernel, flash, random_accesses(flash.bytes(), 4096, 4096), 256);
    EXPECT_EQ(flash.counts().longest_queue, 256u);
    kernel.run();
    EXPECT_EQ(std::ranges::count(load.done, 1), 4096);
    return kernel.now();
  };
  EXPECT_EQ(time_with(1), 4096 * FlashProfile{}.read_latency);
  EXPECT_GE(time_with(4), 1024 * FlashProfile{}.read_latency);
  EXPECT_LT(time_with(32), time_with(4) / 5);
}

// Notes what is asked of it; each request takes a millisecond.
struct NotingDevice final : BlockDevice {
  explicit NotingDevice(Kernel& of) : kernel(of) {}
  void submit(bool writes, Extent place, Then done) override {
    accept_request(noted, bytes(), writes, place);
    asked.push_back({writes, place});
    kernel.after(millisecond, done);
  }
  const DeviceCounts& counts() const override { return noted; }
  Picoseconds worked() const override { return 0; }
  uint64_t requests() const override { return 0; }
  int64_t bytes() const override { return 1 << 30; }

  Kernel& kernel;
  DeviceCounts noted;
  std::vector<DeviceAccess> asked;
};

struct RaidOnNotes {
  RaidOnNotes(RaidLevel level, std::size_t count) {
    std::vector<BlockDevice*> devices;
    for (std::size_t i = 0; i < count; ++i) {
      members.push_back(std::make_unique<NotingDevice>(kernel));
      devices.push_back(members.back().get());
    }
    raid = std::make_unique<Raid>(kernel, level, unit, devices);
  }
  // Returns how many reads and writes of members and what time the accesses took.
  std::tuple<uint64_t, uint64_t, Picoseconds> after(const std::vector<DeviceAccess>& accesses,
                                                    std::size_t depth = 1) {
    const uint64_t reads_before = reads(), writes_before = writes();
    const Picoseconds began = kernel.now();
    DeviceLoad load(kernel, *raid, accesses, depth);
    kernel.run();
    EXPECT_EQ(std::ranges::count(load.done, 1), static_cast<int64_t>(accesses.size()));
    return {reads() - reads_before, writes() - writes_before, kernel.now() - began};
  }
  uint64_t reads() const {
    uint64_t sum = 0;
    for (const auto& member : members) sum += member->noted.reads;
    return sum;
  }
  uint64_t writes() const {
    uint64_t sum = 0;
    for (const auto& member : members) sum += member->noted.writes;
    return sum;
  }

  static constexpr int64_t unit = 64 << 10;
  Kernel kernel;
  std::vector<std::unique_ptr<NotingDevice>> members;
  std::unique_ptr<Raid> raid;
};

using RaidCost = std::tuple<uint64_t, uint64_t, Picoseconds>;
constexpr int64_t raid_unit = RaidOnNotes::unit;

TEST(Raid, Capacity) {
  constexpr int64_t member = 1 << 30;
  EXPECT_EQ(RaidOnNotes(RaidLevel::raid0, 4).raid->bytes(), 4 * member);
  EXPECT_EQ(RaidOnNotes(RaidLevel::raid1, 2).raid->bytes(), member);
  EXPECT_EQ(RaidOnNotes(RaidLevel::raid5, 5).raid->bytes(), 4 * member);
  EXPECT_EQ(RaidOnNotes(RaidLevel::raid6, 6).raid->bytes(), 4 * member);
  EXPECT_THROW(RaidOnNotes(RaidLevel::raid6, 3), std::invalid_argument);
}

TEST(Raid, StripesOverItsMembers) {
  RaidOnNotes group(RaidLevel::raid0, 4);
  EXPECT_EQ(group.after({{false, {0, 4096}}}), RaidCost(1, 0, millisecond));
  // What follows on a member is one request.
  EXPECT_EQ(group.after({{true, {0, 16 * raid_unit}}}), RaidCost(0, 4, millisecond));
  EXPECT_EQ(group.members[2]->asked.back(), (DeviceAccess{true, {0, 4 * raid_unit}}));
  EXPECT_EQ(group.after({{false, {raid_unit - 10, 20}}}), RaidCost(2, 0, millisecond));
  EXPECT_EQ(group.members[0]->asked.back(), (DeviceAccess{false, {raid_unit - 10, 10}}));
  EXPECT_EQ(group.members[1]->asked.back(), (DeviceAccess{false, {0, 10}}));
}

TEST(Raid, MirrorsAndReadsWhereTheQueueIsShort) {
  RaidOnNotes group(RaidLevel::raid1, 2);
  EXPECT_EQ(group.after({{true, {0, 4096}}}), RaidCost(0, 2, millisecond));
  EXPECT_EQ(group.after(random_accesses(1 << 30, 100, 4096), 10),
            RaidCost(100, 0, 10 * millisecond));
  EXPECT_EQ(group.members[0]->noted.reads, 50u);
}

TEST(Raid, WritesParity) {
  for (const auto& [level, count, parities] :
       {std::tuple(RaidLevel::raid5, 5u, 1u), std::tuple(RaidLevel::raid6, 6u, 2u)}) {
    RaidOnNotes group(level, count);
    const int64_t row = 4 * raid_unit;
    // A small write: old data and parity are read, then new ones written.
    EXPECT_EQ(group.after({{true, {row + 8192, 4096}}}),
              RaidCost(1 + parities, 1 + parities, 2 * millisecond));
    // One row, and many rows: no reads, a request for each member.
    EXPECT_EQ(group.after({{true, {3 * row, row}}}), RaidCost(0, count, millisecond));
    EXPECT_EQ(group.after({{true, {0, 50 * row}}}), RaidCost(0, count, millisecond));
    EXPECT_EQ(group.members[3]->asked.back(), (DeviceAccess{true, {0, 50 * raid_unit}}));
    // Half a row, whole rows, half a row.
    EXPECT_EQ(group.after({{true, {row / 2, 3 * row}}}),
              RaidCost(2 * (2 + parities), count + 2 * (2 + parities), 2 * millisecond));
    // Reads go to data members alone, each byte once.
    EXPECT_EQ(group.after({{false, {row, row}}}), RaidCost(4, 0, millisecond));
    int64_t read_bytes = 0;
    for (const auto& member : group.members) read_bytes -= member->noted.read_bytes;
    group.after({{false, {12'345, 50 * row}}});
    for (const auto& member : group.members) read_bytes += member->noted.read_bytes;
    EXPECT_EQ(read_bytes, 50 * row);
  }
}

// Parity takes turns: small writes over many rows load all members alike.
TEST(Raid, ParityMoves) {
  RaidOnNotes group(RaidLevel::raid5, 5);
  std::vector<DeviceAccess> accesses;
  for (int64_t row = 0; row < 100; ++row) accesses.push_back({true, {row * 4 * raid_unit, 4096}});
  group.after(accesses, 8);
  for (const auto& member : group.members) EXPECT_EQ(member->noted.writes, 40u);
}

TEST(Raid, WorksOverDisks) {
  Kernel kernel;
  std::vector<std::unique_ptr<Disk>> disks;
  std::vector<BlockDevice*> devices;
  for (int i = 0; i < 5; ++i) {
    disks.push_back(std::make_unique<Disk>(kernel, wd800jd()));
    devices.push_back(disks.back().get());
  }
  Raid raid(kernel, RaidLevel::raid5, raid_unit, devices);
  DeviceLoad load(kernel, raid, random_accesses(raid.bytes(), 1000, 100'000, 0.5), 20);
  EXPECT_TRUE(kernel.run());
  EXPECT_EQ(std::ranges::count(load.done, 1), 1000);
  EXPECT_GT(raid.counts().busy, 0);
}

}  // namespace
}  // namespace forebay::sim
