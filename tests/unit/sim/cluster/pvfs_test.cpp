// The simulated parallel file system: where bytes go, what messages a request takes.
#include "sim/cluster/pvfs.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sim/cluster/disk.h"

namespace forebay::sim {
namespace {

constexpr int64_t strip = 64 << 10;

// Servers behind one client.
class PvfsTest : public ::testing::Test {
 protected:
  explicit PvfsTest(uint32_t servers = 4) {
    network_profile.by_frames = false;
    network = std::make_unique<Network>(kernel, network_profile, 1 + servers);
    ServerProfile server;
    server.cache_bytes = 64 << 20;
    for (uint32_t s = 0; s < servers; ++s) {
      disks.push_back(std::make_unique<Disk>(kernel, wd800jd()));
      storages.push_back(std::make_unique<ServerStorage>(kernel, *disks.back(), server));
      pointers.push_back(storages.back().get());
    }
    pvfs = std::make_unique<Pvfs>(kernel, *network, profile, 1, pointers);
  }

  // Returns the time that it takes.
  Picoseconds access(bool writes, const std::vector<Extent>& extents) {
    const Picoseconds began = kernel.now();
    Picoseconds ended = -1;
    Process process(kernel, [&] {
      Completion done;
      pvfs->access(0, file, writes, extents, done.then());
      done.wait();
      ended = kernel.now();
    });
    EXPECT_TRUE(kernel.run());
    EXPECT_TRUE(process.ended());
    return ended - began;
  }
  int64_t written(uint32_t server) const { return pvfs->counts(server).written_bytes; }

  static constexpr uint64_t file = 7;
  Kernel kernel;
  NetworkProfile network_profile;
  PvfsProfile profile;
  std::unique_ptr<Network> network;
  std::vector<std::unique_ptr<Disk>> disks;
  std::vector<std::unique_ptr<ServerStorage>> storages;
  std::vector<ServerStorage*> pointers;
  std::unique_ptr<Pvfs> pvfs;
};

TEST_F(PvfsTest, StripsGoToTheServersInTurn) {
  access(true, {{0, 10 * strip}});
  EXPECT_EQ(written(0), 3 * strip);
  EXPECT_EQ(written(1), 3 * strip);
  EXPECT_EQ(written(2), 2 * strip);
  EXPECT_EQ(written(3), 2 * strip);
  EXPECT_EQ(pvfs->size(file), 10 * strip);
  EXPECT_EQ(pvfs->requests(), 4);
  // A server holds its strips without the others'.
  EXPECT_EQ(storages[0]->size(file), 3 * strip);
  EXPECT_EQ(storages[3]->size(file), 2 * strip);
}

TEST_F(PvfsTest, AnExtentTouchesTheStripsThatItMeets) {
  access(true, {{strip - 10, 20}, {4 * strip + 5, 5}});
  EXPECT_EQ(written(0), 10 + 5);
  EXPECT_EQ(written(1), 10);
  EXPECT_EQ(pvfs->requests(), 2);
  EXPECT_EQ(pvfs->size(file), 4 * strip + 10);
}

TEST_F(PvfsTest, ARequestNamesSoManyExtents) {
  std::vector<Extent> extents;
  for (int64_t i = 0; i < 100; ++i) extents.push_back({i * 100, 10});
  access(true, extents);
  EXPECT_EQ(pvfs->requests(), 2);  // of 64 and 36 extents, to one server
  EXPECT_EQ(written(0), 1000);
}

// The bytes of a small write come with the request: two messages. A large one asks first, and is
// answered at its end.
TEST_F(PvfsTest, SmallWritesTravelWithTheirRequest) {
  access(true, {{0, profile.carried_bytes}});
  EXPECT_EQ(network->counts().messages, 2u);
  access(true, {{0, profile.carried_bytes + 1}});
  EXPECT_EQ(network->counts().messages, 2u + 4u);
}

TEST_F(PvfsTest, ASmallWriteTakesARoundTripAndTheServersWork) {
  const Picoseconds idle = access(true, {{0, 100}});
  Picoseconds round_trip = 0;
  // A message of the request's size, and one of the response's.
  struct Answering final : Event {
    explicit Answering(Network& of) : network(of) {}
    void happen(uint64_t word) override {
      if (word == 0) network.send(1, 0, 8, {this, 1});
    }
    Network& network;
  };
  const Picoseconds began = kernel.now();
  Answering answering(*network);
  network->send(0, 1, profile.request_bytes + profile.extent_bytes + 100, {&answering, 0});
  kernel.run();
  round_trip = kernel.now() - began;
  EXPECT_GT(idle, round_trip);
  EXPECT_LT(idle, round_trip + 5 * microsecond);  // a system call and a copy
}

TEST_F(PvfsTest, RequestsWaitForAServerThatWorks) {
  profile.request_time = 1 * millisecond;
  pvfs = std::make_unique<Pvfs>(kernel, *network, profile, 1, pointers);
  int ended = 0;
  std::vector<std::unique_ptr<Process>> processes;
  for (int p = 0; p < 8; ++p) {
    processes.push_back(std::make_unique<Process>(kernel, [&] {
      const Extent extent{0, 100};
      Completion done;
      pvfs->access(0, file, true, {&extent, 1}, done.then());
      done.wait();
      ++ended;
    }));
  }
  kernel.run();
  EXPECT_EQ(ended, 8);
  EXPECT_GE(kernel.now(), 8 * millisecond);
  EXPECT_LT(kernel.now(), 9 * millisecond);
  EXPECT_EQ(pvfs->counts(0).busy, 8 * millisecond);
}

// Large transfers approach what the client's link carries.
TEST_F(PvfsTest, LargeTransfersFillTheLink) {
  const int64_t bytes = 64 << 20;
  const double rate = network_profile.bits_per_second / 8;
  const Picoseconds link = time_of(bytes, rate);
  EXPECT_LT(access(true, {{0, bytes}}), link + link / 8);
  EXPECT_LT(access(false, {{0, bytes}}), link + link / 8);
}

TEST_F(PvfsTest, APlacedFileIsReadFromTheDisks) {
  pvfs->place(file, 16 << 20);
  access(false, {{0, 16 << 20}});
  int64_t read = 0;
  for (const auto& disk : disks) read += disk->counts().read_bytes;
  EXPECT_GE(read, 16 << 20);
  EXPECT_EQ(pvfs->size(file), 16 << 20);
}

TEST_F(PvfsTest, MetadataTakesTheServersTimes) {
  profile.create_metadata = profile.create_data_file = 1 * millisecond;
  profile.create_directory_entry = 2 * millisecond;
  profile.lookup = profile.get_attributes = 1 * millisecond;
  profile.open = 5 * millisecond;
  pvfs = std::make_unique<Pvfs>(kernel, *network, profile, 1, pointers);
  Picoseconds created = 0, opened = 0;
  Process process(kernel, [&] {
    pvfs->create(0, file);
    created = kernel.now();
    pvfs->open(0, file);
    opened = kernel.now() - created;
  });
  kernel.run();
  // The root's attributes, the file's metadata, all data files at the same time, the entry.
  EXPECT_GT(created, (1 + 1 + 1 + 2) * millisecond);
  EXPECT_LT(created, (1 + 1 + 1 + 2 + 1) * millisecond);
  EXPECT_GT(opened, (5 + 2) * millisecond);
  EXPECT_LT(opened, (5 + 2 + 1) * millisecond);
}

}  // namespace
}  // namespace forebay::sim
