// A simulated server's cache, write-back, read-ahead and places on the device.
#include "sim/cluster/server_storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/cluster/disk.h"
#include "sim/cluster/flash.h"

namespace forebay::sim {
namespace {

constexpr int64_t test_block_bytes = 4096;
constexpr Picoseconds slow_request = 10 * millisecond;

// Serves any number of requests at once, each in ten milliseconds.
struct SlowDevice final : BlockDevice {
  explicit SlowDevice(Kernel& of) : kernel(of) {}
  void submit(bool writes, Extent place, Then done) override {
    accept_request(noted, bytes(), writes, place);
    (writes ? written : read).push_back(place);
    kernel.after(slow_request, done);
  }
  const DeviceCounts& counts() const override { return noted; }
  Picoseconds worked() const override { return 0; }
  uint64_t requests() const override { return 0; }
  int64_t bytes() const override { return int64_t{1} << 34; }

  Kernel& kernel;
  DeviceCounts noted;
  std::vector<Extent> read, written;
};

struct StorageCalls final : Event {
  void happen(uint64_t word) override {
    if (word >= done.size()) done.resize(word + 1);
    ++done[word];
  }
  Then next() { return {this, made++}; }
  // Every one so far has happened once.
  bool all_done() const {
    return done.size() == made && std::ranges::count(done, 1) == static_cast<int64_t>(made);
  }
  uint64_t made = 0;
  std::vector<int> done;
};

ServerProfile server_with(int64_t blocks) {
  ServerProfile profile;
  profile.cache_bytes = blocks * test_block_bytes;
  profile.read_ahead_bytes = 0;
  return profile;
}

struct SlowServer {
  explicit SlowServer(const ServerProfile& profile) : storage(kernel, device, profile) {}
  // One call at a time. Returns the time that it took.
  Picoseconds read(uint64_t object, Extent place) {
    const Picoseconds began = kernel.now();
    storage.read(object, place, calls.next());
    kernel.run();
    return kernel.now() - began;
  }
  Picoseconds write(uint64_t object, Extent place) {
    const Picoseconds began = kernel.now();
    storage.write(object, place, calls.next());
    kernel.run();
    return kernel.now() - began;
  }
  void flush(uint64_t object) {
    storage.flush(object, calls.next());
    kernel.run();
  }
  Picoseconds processor_time(int64_t bytes) const {
    return storage.profile().system_call + time_of(bytes, storage.profile().copy_bytes_per_second);
  }
  ~SlowServer() { EXPECT_TRUE(calls.all_done()); }

  Kernel kernel;
  SlowDevice device{kernel};
  StorageCalls calls;
  ServerStorage storage;
};

Extent blocks_at(int64_t first, int64_t count) {
  return {first * test_block_bytes, count * test_block_bytes};
}

// What the cache holds if the least recently used clean block makes room for another.
class LruModel {
 public:
  explicit LruModel(std::size_t capacity) : capacity_(capacity) {}
  void read(uint64_t object, int64_t first, int64_t count) {
    access(object, first, count, [&](const Key& key) {
      ++hits;
      order_.splice(order_.end(), order_, places_[key]);
    });
  }
  // With a flush.
  void write(uint64_t object, int64_t first, int64_t count) {
    const uint64_t misses_before = misses;
    access(object, first, count, [&](const Key& key) {
      order_.erase(places_[key]);
      places_.erase(key);
      held_.push_back(key);
    });
    misses = misses_before;
  }
  uint64_t hits = 0, misses = 0;

 private:
  using Key = std::pair<uint64_t, int64_t>;
  template <typename Hit>
  void access(uint64_t object, int64_t first, int64_t count, Hit hit) {
    held_.clear();
    for (int64_t block = first; block < first + count; ++block) {
      const Key key{object, block};
      if (places_.contains(key)) {
        hit(key);
        continue;
      }
      ++misses;
      if (places_.size() + held_.size() == capacity_) {
        places_.erase(order_.front());
        order_.pop_front();
      }
      held_.push_back(key);
    }
    for (const Key& key : held_) places_[key] = order_.insert(order_.end(), key);
  }

  std::size_t capacity_;
  std::list<Key> order_;
  std::map<Key, std::list<Key>::iterator> places_;
  std::vector<Key> held_;  // being read or written back: cannot make room
};

TEST(ServerStorage, HitsAndMissesAreThoseOfTheModel) {
  for (const int64_t capacity : {16, 100, 1000}) {
    SlowServer server(server_with(capacity));
    LruModel model(static_cast<std::size_t>(capacity));
    constexpr uint64_t objects = 5;
    constexpr int64_t object_blocks = 150;
    for (uint64_t i = 0; i < objects; ++i)
      server.storage.lay_out(i, object_blocks * test_block_bytes);
    std::mt19937_64 random(3);
    for (int i = 0; i < 5000; ++i) {
      const uint64_t object = random() % objects;
      const auto first = static_cast<int64_t>(random() % (object_blocks - 10));
      const auto count = static_cast<int64_t>(1 + random() % 10);
      if (random() % 4 == 0) {
        server.write(object, blocks_at(first, count));
        server.flush(object);
        model.write(object, first, count);
      } else {
        server.read(object, blocks_at(first, count));
        model.read(object, first, count);
      }
      ASSERT_EQ(server.storage.counts().hits, model.hits) << i;
      ASSERT_EQ(server.storage.counts().misses, model.misses) << i;
    }
    EXPECT_EQ(server.storage.counts().blocks_read_to_write, 0u);
  }
}

TEST(ServerStorage, CachedCallsTakeProcessorTimeOnly) {
  SlowServer server(server_with(1000));
  EXPECT_EQ(server.write(1, {0, 100'000}), server.processor_time(100'000));
  EXPECT_EQ(server.read(1, {0, 100'000}), server.processor_time(100'000));
  EXPECT_EQ(server.storage.size(1), 100'000);
  // Bytes beyond the end are not read.
  EXPECT_EQ(server.read(1, {90'000, 100'000}), server.processor_time(10'000));
  EXPECT_EQ(server.read(1, {200'000, 10}), server.processor_time(0));
  EXPECT_EQ(server.read(2, {0, 10}), server.processor_time(0));
  EXPECT_EQ(server.storage.counts().device_reads, 0u);
  // The processor does one thing after the other.
  for (int i = 0; i < 10; ++i) server.storage.read(1, {0, 100'000}, server.calls.next());
  const Picoseconds began = server.kernel.now();
  server.kernel.run();
  EXPECT_EQ(server.kernel.now() - began, 10 * server.processor_time(100'000));
}

TEST(ServerStorage, MissesWaitForTheDevice) {
  SlowServer server(server_with(1000));
  server.storage.lay_out(1, 500 * test_block_bytes);
  EXPECT_EQ(server.read(1, blocks_at(0, 100)),
            slow_request + server.processor_time(100 * test_block_bytes));
  EXPECT_EQ(server.device.read.size(), 1u);
  EXPECT_EQ(server.device.read[0].length, 100 * test_block_bytes);
  server.storage.drop_caches();
  EXPECT_EQ(server.read(1, blocks_at(0, 100)),
            slow_request + server.processor_time(100 * test_block_bytes));
  // Two calls for the same blocks: one request.
  server.storage.drop_caches();
  server.storage.read(1, blocks_at(0, 10), server.calls.next());
  server.storage.read(1, blocks_at(5, 5), server.calls.next());
  server.kernel.run();
  EXPECT_EQ(server.device.read.size(), 3u);
}

TEST(ServerStorage, DirtyThresholdMakesWritersWait) {
  SlowServer server(server_with(1000));
  server.write(1, blocks_at(0, 899));
  EXPECT_EQ(server.storage.counts().device_writes, 0u);
  EXPECT_EQ(server.storage.counts().waits, 0u);
  EXPECT_GT(server.write(1, blocks_at(899, 2)), slow_request);
  EXPECT_GT(server.storage.counts().device_writes, 0u);
  EXPECT_EQ(server.storage.counts().waits, 1u);
  // A write of several caches, and many at once.
  server.write(1, blocks_at(0, 5000));
  for (int i = 0; i < 100; ++i) {
    server.storage.write(2, blocks_at(16 * i, 16), server.calls.next());
  }
  server.kernel.run();
  EXPECT_EQ(server.storage.counts().dirty_peak_bytes, 900 * test_block_bytes);
}

TEST(ServerStorage, FlushWritesAllAndInLargeRequests) {
  SlowServer server(server_with(10'000));
  server.write(1, {0, 16 << 20});
  server.write(2, {0, 100});
  server.flush(1);
  ASSERT_EQ(server.device.written.size(), 16u);
  for (std::size_t i = 1; i < 16; ++i) {
    EXPECT_EQ(server.device.written[i].length, 1 << 20);
    EXPECT_EQ(server.device.written[i].offset, server.device.written[i - 1].end());
  }
  EXPECT_EQ(server.storage.counts().blocks_written_back, 4096u);
  server.flush(1);
  EXPECT_EQ(server.device.written.size(), 16u);
  // A block that is written while it is being written back is written back again.
  server.storage.write(1, blocks_at(0, 1), server.calls.next());
  server.storage.flush(1, server.calls.next());
  server.storage.write(1, blocks_at(0, 1), server.calls.next());
  server.kernel.run();
  EXPECT_EQ(server.device.written.size(), 18u);
}

TEST(ServerStorage, ObjectsThatGrowByTurnsStayContiguous) {
  SlowServer server(server_with(10'000));
  for (int64_t i = 0; i < 200; ++i) {
    for (uint64_t object = 0; object < 4; ++object) {
      server.write(object, blocks_at(16 * i, 16));
      if (i % 10 == 9) server.flush(object);
    }
  }
  std::set<int64_t> begins;
  for (uint64_t object = 0; object < 4; ++object) {
    ASSERT_EQ(server.storage.runs(object).size(), 1u);
    EXPECT_EQ(server.storage.runs(object)[0].length, 3200);
    begins.insert(server.storage.runs(object)[0].device);
  }
  EXPECT_EQ(begins.size(), 4u);
  // Blocks that are written back in any order are in order on the device, too.
  for (const int64_t block : {50, 20, 90, 10, 11, 51}) {
    server.write(9, blocks_at(block, 1));
    server.flush(9);
  }
  const auto runs = server.storage.runs(9);
  for (const BlockRun& run : runs) {
    EXPECT_EQ(run.device - runs[0].device, run.first - runs[0].first);
  }
}

TEST(ServerStorage, ReadsBlocksThatAreWrittenInPart) {
  SlowServer server(server_with(1000));
  server.storage.lay_out(1, 100 * test_block_bytes + 50);
  const auto reads = [&] { return server.storage.counts().blocks_read_to_write; };
  // The first and the last block, at once.
  EXPECT_EQ(server.write(1, {100, 3 * test_block_bytes}),
            slow_request + server.processor_time(3 * test_block_bytes));
  EXPECT_EQ(reads(), 2u);
  EXPECT_EQ(server.device.read.size(), 2u);
  // Now they are cached.
  server.write(1, {200, 100});
  EXPECT_EQ(reads(), 2u);
  server.write(1, blocks_at(10, 3));
  EXPECT_EQ(reads(), 2u);
  // All that the last block has is overwritten; beyond there is nothing.
  server.write(1, {100 * test_block_bytes, 60});
  server.write(1, {200 * test_block_bytes + 5, 60});
  EXPECT_EQ(reads(), 2u);
  server.write(1, {50 * test_block_bytes + 5, 60});
  EXPECT_EQ(reads(), 3u);
  EXPECT_EQ(server.storage.counts().misses, 0u);
}

TEST(ServerStorage, ReadsAheadWhileReadInOrder) {
  ServerProfile profile = server_with(10'000);
  profile.read_ahead_bytes = 128 << 10;
  SlowServer server(profile);
  server.storage.lay_out(1, 8 << 20);
  server.storage.lay_out(2, 8 << 20);
  for (int64_t i = 0; i < 512; ++i) server.read(1, {i * (16 << 10), 16 << 10});
  EXPECT_LE(server.storage.counts().device_reads, 130u);
  EXPECT_EQ(server.storage.counts().misses, 4u);
  EXPECT_EQ(server.storage.counts().blocks_read_ahead, 2044u);
  // 4, 8, 16, 32 blocks.
  EXPECT_EQ(server.device.read[1].length, 4 * test_block_bytes);
  EXPECT_EQ(server.device.read[2].length, 8 * test_block_bytes);
  for (const Extent& place : server.device.read) EXPECT_LE(place.length, 128 << 10);
  // Out of order: none.
  for (int64_t i = 100; i > 0; --i) server.read(2, blocks_at(10 * i, 1));
  EXPECT_EQ(server.storage.counts().blocks_read_ahead, 2044u);
}

TEST(ServerStorage, TruncateAndRemoveForgetDirtyBlocks) {
  SlowServer server(server_with(1000));
  server.write(1, blocks_at(0, 10));
  server.storage.remove(1);
  EXPECT_EQ(server.storage.size(1), 0);
  server.flush(1);
  EXPECT_EQ(server.storage.counts().device_writes, 0u);
  server.write(2, blocks_at(0, 10));
  server.storage.truncate(2, 3 * test_block_bytes - 5);
  EXPECT_EQ(server.storage.size(2), 3 * test_block_bytes - 5);
  server.flush(2);
  EXPECT_EQ(server.storage.counts().blocks_written_back, 3u);
  // Bytes that a longer object has no block for are zeros: nothing is on the device.
  server.storage.truncate(2, 100 * test_block_bytes);
  server.read(2, blocks_at(0, 100));
  EXPECT_EQ(server.device.read.size(), 0u);
  // A flush that waits ends when the object is removed.
  server.write(3, blocks_at(0, 10));
  server.storage.flush(3, server.calls.next());
  server.storage.remove(3);
  server.write(3, blocks_at(0, 10));
  EXPECT_EQ(server.storage.size(3), 10 * test_block_bytes);
  EXPECT_TRUE(server.storage.runs(3).empty());
}

// A request that was under way for an object that is no more says nothing about its successor.
TEST(ServerStorage, RemovedObjectsRequestsAreNotItsSuccessors) {
  SlowServer server(server_with(1000));
  const auto run_until_done = [&] {
    while (!server.calls.all_done()) ASSERT_FALSE(server.kernel.run(1) && !server.calls.all_done());
  };
  const auto pass_half_a_request = [&] {
    server.kernel.after(slow_request / 2, server.calls.next());
    run_until_done();
  };
  server.storage.lay_out(1, 100 * test_block_bytes);
  server.storage.read(1, blocks_at(0, 10), {});
  pass_half_a_request();
  server.storage.remove(1);
  server.storage.lay_out(1, 100 * test_block_bytes);
  server.storage.read(1, blocks_at(0, 10), {});
  while (server.kernel.now() < slow_request) server.kernel.run(1);
  server.storage.read(1, blocks_at(0, 10), server.calls.next());
  run_until_done();
  EXPECT_EQ(server.kernel.now() / millisecond, 15);  // when the second request is done
  server.kernel.run();

  const Picoseconds began = server.kernel.now();
  server.storage.write(2, blocks_at(0, 10), {});
  server.storage.flush(2, {});
  pass_half_a_request();
  server.storage.remove(2);
  server.storage.write(2, blocks_at(0, 10), {});
  server.storage.flush(2, server.calls.next());
  run_until_done();
  EXPECT_EQ((server.kernel.now() - began) / millisecond, 15);
}

TEST(ServerStorage, WritesBackWhatHasBeenDirtyForLong) {
  ServerProfile profile = server_with(1000);
  profile.write_back_interval = 5 * second;
  profile.write_back_expire = 30 * second;
  SlowServer server(profile);
  server.write(1, blocks_at(0, 10));  // the kernel runs until all has been written back
  EXPECT_EQ(server.storage.counts().blocks_written_back, 10u);
  EXPECT_GE(server.kernel.now(), 30 * second);
  EXPECT_LE(server.kernel.now(), 41 * second);
}

TEST(FreeSpace, JoinsWhatIsGivenBack) {
  FreeSpace space(6400, 100);
  EXPECT_EQ(space.fresh_goal(), 0);
  EXPECT_EQ(space.fresh_goal(), 100);
  for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(space.take(10 * i, 10), (Extent{10 * i, 10}));
  // What is not free at the goal is taken from a part that is wholly free.
  EXPECT_EQ(space.take(5, 10), (Extent{200, 10}));
  for (const int64_t begin : {0, 20, 10, 200}) space.give_back({begin, 10});
  EXPECT_EQ(space.take(0, 10'000), (Extent{0, 6400}));
  EXPECT_THROW(space.take(0, 1), std::length_error);
}

// Objects never share a block of the device, and all of it is found again.
void expect_places_apart(const ServerStorage& storage, uint64_t objects) {
  std::map<int64_t, int64_t> taken;
  for (uint64_t object = 0; object < objects; ++object) {
    for (const BlockRun& run : storage.runs(object)) {
      EXPECT_TRUE(taken.emplace(run.device, run.device + run.length).second);
    }
  }
  int64_t end = 0;
  for (const auto& [begin, next_end] : taken) {
    EXPECT_GE(begin, end);
    end = next_end;
  }
}

void run_at_random(BlockDevice& device, Kernel& kernel, const ServerProfile& profile,
                   uint64_t seed) {
  constexpr uint64_t objects = 6;
  StorageCalls calls;
  ServerStorage storage(kernel, device, profile);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 3000; ++i) {
    const uint64_t object = random() % objects;
    const Extent place{static_cast<int64_t>(random() % 2'000'000),
                       static_cast<int64_t>(random() % (i % 50 == 0 ? 1'000'000 : 30'000))};
    const uint64_t action = random() % 100;
    if (action < 45) {
      storage.write(object, place, calls.next());
    } else if (action < 85) {
      storage.read(object, place, calls.next());
    } else if (action < 93) {
      storage.flush(object, calls.next());
    } else if (action < 95) {
      storage.truncate(object, place.offset);
    } else if (action < 97) {
      storage.remove(object);
    } else if (action < 98) {
      storage.drop_caches();
    }
    kernel.run(random() % 8);
  }
  EXPECT_TRUE(kernel.run());
  EXPECT_TRUE(calls.all_done());
  for (uint64_t object = 0; object < objects; ++object) storage.flush(object, calls.next());
  EXPECT_TRUE(kernel.run());
  EXPECT_TRUE(calls.all_done());
  expect_places_apart(storage, objects);
  const uint64_t written = storage.counts().blocks_written_back;
  for (uint64_t object = 0; object < objects; ++object) storage.flush(object, calls.next());
  kernel.run();
  EXPECT_EQ(storage.counts().blocks_written_back, written);
  for (uint64_t object = 0; object < objects; ++object) storage.remove(object);
  const int64_t all = device.bytes() / test_block_bytes;
  storage.lay_out(99, all * test_block_bytes);
  EXPECT_LE(storage.runs(99).size(), 2u);
  EXPECT_THROW(storage.lay_out(100, 1), std::length_error);
}

TEST(ServerStorage, EveryCallIsDoneOnceInRandomRuns) {
  uint64_t seed = 1;
  for (const int64_t capacity : {1, 2, 7, 64, 500}) {
    for (const double threshold : {0.1, 0.9, 1.0}) {
      ServerProfile profile = server_with(capacity);
      profile.dirty_threshold = threshold;
      profile.read_ahead_bytes = seed % 2 == 0 ? 0 : 64 << 10;
      profile.write_back_interval = seed % 3 == 0 ? 0 : 50 * millisecond;
      profile.write_back_expire = 20 * millisecond;
      Kernel kernel;
      if (seed % 2 == 0) {
        Disk disk(kernel, wd800jd());
        run_at_random(disk, kernel, profile, seed);
      } else {
        FlashProfile flash_profile;
        flash_profile.bytes = 1 << 30;
        Flash flash(kernel, flash_profile);
        run_at_random(flash, kernel, profile, seed);
      }
      ++seed;
    }
  }
}

// Throttled sequential writes go at about the rate of the disk.
TEST(ServerStorage, SequentialWritesBeyondTheCacheGoAtTheRateOfTheDisk) {
  Kernel kernel;
  Disk disk(kernel, wd800jd());
  StorageCalls calls;
  ServerStorage storage(kernel, disk, server_with(4096));
  for (int64_t i = 0; i < 4096; ++i) storage.write(1, {i << 16, 1 << 16}, calls.next());
  storage.flush(1, calls.next());
  kernel.run();
  EXPECT_TRUE(calls.all_done());
  const double rate = (256 << 20) / (static_cast<double>(kernel.now()) / 1e12);
  RecordProperty("megabytes_per_second", static_cast<int>(rate / 1e6));
  EXPECT_GT(rate, 60e6);
}

}  // namespace
}  // namespace forebay::sim
