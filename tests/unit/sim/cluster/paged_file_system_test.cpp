// Simulated file systems whose clients keep pages: when bytes cross the network, and who waits.
#include "sim/cluster/paged_file_system.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "extent/seeded_random.h"
#include "sim/cluster/flash.h"
#include "unit/sim/cluster/sizes.h"

namespace forebay::sim {
namespace {

constexpr uint64_t file_6 = 6;

// Two or more clients, and servers with a drive each.
class PagedTest : public ::testing::Test {
 protected:
  PagedTest() { rebuild(); }

  void rebuild(uint32_t clients = 2, uint32_t servers = 4) {
    network_profile.by_frames = false;
    network_profile.bits_per_second = 100e9;
    network_profile.window = 8 << 20;
    network_profile.host_delay = 1 * microsecond;
    kernel = std::make_unique<Kernel>();
    network = std::make_unique<Network>(*kernel, network_profile, clients + servers + 1);
    drives.clear();
    storages.clear();
    pointers.clear();
    ServerProfile server;
    server.cache_bytes = 256 << 20;
    server.copy_bytes_per_second = 1e11;
    for (uint32_t s = 0; s < servers; ++s) {
      drives.push_back(std::make_unique<Flash>(*kernel, FlashProfile()));
      storages.push_back(std::make_unique<ServerStorage>(*kernel, *drives.back(), server));
      pointers.push_back(storages.back().get());
    }
    files = std::make_unique<PagedFileSystem>(*kernel, *network, profile, clients, pointers);
  }

  // A process's life. Returns when it ends.
  Picoseconds run(const std::function<void()>& life) {
    Process process(*kernel, life);
    EXPECT_TRUE(kernel->run());
    EXPECT_TRUE(process.ended());
    return kernel->now();
  }
  // Called by a process. Returns the time that it takes.
  Picoseconds access(uint32_t client, bool writes, Extent extent) {
    const Picoseconds began = kernel->now();
    Completion done;
    files->access(client, file_6, writes, {&extent, 1}, done.then());
    done.wait();
    return kernel->now() - began;
  }
  int64_t written() const { return sum(&FileServerCounts::written_bytes); }
  int64_t read() const { return sum(&FileServerCounts::read_bytes); }
  int64_t sum(int64_t FileServerCounts::*of) const {
    int64_t bytes = 0;
    for (uint32_t s = 0; s < files->servers(); ++s) bytes += files->counts(s).*of;
    return bytes;
  }

  PagedProfile profile;
  NetworkProfile network_profile;
  std::unique_ptr<Kernel> kernel;
  std::unique_ptr<Network> network;
  std::vector<std::unique_ptr<Flash>> drives;
  std::vector<std::unique_ptr<ServerStorage>> storages;
  std::vector<ServerStorage*> pointers;
  std::unique_ptr<PagedFileSystem> files;
};

TEST_F(PagedTest, AFileIsOnAsManyServersAsItHasStripesARow) {
  profile.stripe_count = 3;
  profile.commits_at_close = true;
  rebuild();
  run([&] {
    access(0, true, {0, 10 * mib});
    files->close(0, file_6);
  });
  // File 6 begins on server 6 % 4.
  EXPECT_EQ(files->counts(2).written_bytes, 4 * mib);
  EXPECT_EQ(files->counts(3).written_bytes, 3 * mib);
  EXPECT_EQ(files->counts(0).written_bytes, 3 * mib);
  EXPECT_EQ(files->counts(1).written_bytes, 0);
  EXPECT_EQ(files->size(file_6), 10 * mib);
  EXPECT_EQ(storages[2]->size(file_6), 4 * mib);
}

TEST_F(PagedTest, WritesReturnOnceTheyAreInPages) {
  run([&] {
    Picoseconds time = 0;
    access(0, true, {0, 300});  // takes the lock
    for (int64_t r = 1; r < 1000; ++r) time += access(0, true, {r * 300, 300});
    EXPECT_LT(time, 1000 * microsecond);
  });
  EXPECT_EQ(files->requests(), 0);
  EXPECT_EQ(files->dirty_bytes(0), 300'000 / 4096 * 4096 + 4096);
  EXPECT_EQ(files->locks().asked, 1);
}

TEST_F(PagedTest, DirtyPagesLeaveInFullRequests) {
  run([&] {
    for (int64_t r = 0; r < 100; ++r) access(0, true, {r * 100 * kib, 100 * kib});
  });
  EXPECT_EQ(files->requests(), 2);
  EXPECT_EQ(written(), 8 * mib);
  EXPECT_LT(files->dirty_bytes(0), 2 * mib);
}

TEST_F(PagedTest, WritersWaitWhileTooManyPagesAreDirty) {
  const int64_t bytes = 512 * mib;
  Picoseconds took = 0;
  run([&] { took = access(0, true, {0, bytes}); });
  // All but the last dirty pages have crossed the link.
  EXPECT_GT(took, time_of(bytes - profile.dirty_bytes, network_profile.bits_per_second / 8));
  EXPECT_LE(files->dirty_bytes(0), profile.dirty_bytes);
}

TEST_F(PagedTest, PagesServeFurtherReads) {
  files->place(file_6, 8 * mib);
  run([&] {
    const Picoseconds first = access(0, false, {mib, mib});
    const int64_t requests = files->requests();
    EXPECT_GT(requests, 0);
    EXPECT_LT(access(0, false, {mib, mib}), first / 2);
    EXPECT_LT(access(0, false, {mib + 100, 100}), first / 100);
    EXPECT_EQ(files->requests(), requests);
    access(1, false, {mib, mib});
    EXPECT_GT(files->requests(), requests);
  });
}

TEST_F(PagedTest, AFullCacheForgetsItsOldestCleanPages) {
  profile.cache_bytes = 4 * mib;
  profile.read_ahead_bytes = 0;
  rebuild();
  files->place(file_6, 16 * mib);
  run([&] {
    for (int64_t at = 0; at < 16; ++at) access(0, false, {at * mib, mib});
    EXPECT_EQ(files->cached_bytes(0), 4 * mib);
    const int64_t requests = files->requests();
    access(0, false, {15 * mib, mib});
    EXPECT_EQ(files->requests(), requests);
    access(0, false, {0, mib});
    EXPECT_GT(files->requests(), requests);
  });
}

TEST_F(PagedTest, ReadsInOrderArePreparedAhead) {
  const auto requests = [&](int64_t ahead, bool in_order) {
    profile.read_ahead_bytes = ahead;
    rebuild();
    files->place(file_6, 64 * mib);
    const Picoseconds took = run([&] {
      for (int64_t r = 0; r < 1024; ++r) {
        const int64_t record = in_order ? r : r * 389 % 1024;
        access(0, false, {record * 64 * kib, 64 * kib});
      }
    });
    return std::pair(files->requests(), took);
  };
  const auto [with, quick] = requests(64 * mib, true);
  const auto [without, slow] = requests(0, true);
  EXPECT_EQ(without, 1024);
  EXPECT_LE(with, 18);
  EXPECT_LT(quick, slow * 2 / 3);
  EXPECT_GT(requests(64 * mib, false).first, 900);
}

TEST_F(PagedTest, APageOfTheFileIsReadBeforeAPartOfItIsWritten) {
  files->place(file_6, 10'000);
  run([&] {
    access(0, true, {100, 300});  // within a page
    EXPECT_EQ(read(), 4096);
    access(0, true, {4096, 4096});  // a whole page
    EXPECT_EQ(read(), 4096);
    access(0, true, {9'000, 2'000});  // its first bytes are the file's, beyond is nothing
    EXPECT_EQ(read(), 4096 + 10'000 - 8192);
    access(0, true, {40'000, 300});  // beyond the end
    EXPECT_EQ(read(), 4096 + 10'000 - 8192);
  });
}

// Two clients write records in turn: each record's lock must come from the other, even if the
// records never meet, since a lock grows over all of an object.
TEST_F(PagedTest, WritersOfOneObjectTakeEachOthersLocks) {
  profile.stripe_count = 2;
  const auto took = [&](int64_t apart) {
    rebuild();
    return run([&] {
      for (int64_t r = 0; r < 50; ++r) {
        access(0, true, {r * 2000, 1000});
        access(1, true, {apart + r * 2000 + 1000, 1000});
      }
    });
  };
  const Picoseconds together = took(0);
  EXPECT_GE(files->locks().called_back, 99);
  EXPECT_GE(files->requests(), 99);
  EXPECT_GT(took(100 * mib), together / 2);
  EXPECT_GE(files->locks().called_back, 99);
  // The next stripe is on another server.
  EXPECT_LT(took(profile.stripe_bytes), together / 10);
  EXPECT_EQ(files->locks().called_back, 0);
  EXPECT_EQ(files->requests(), 0);
}

TEST_F(PagedTest, ReadersFindAnothersBytesAndShareTheLock) {
  run([&] {
    access(0, true, {0, mib});
    EXPECT_EQ(written(), 0);
    access(1, false, {0, mib});
    EXPECT_EQ(written(), mib);  // the writer had to give it up
    EXPECT_EQ(files->dirty_bytes(0), 0);
    EXPECT_EQ(files->cached_bytes(0), 0);
    access(0, false, {0, mib});
    const int64_t requests = files->requests();
    for (uint32_t turn = 0; turn < 10; ++turn) access(turn % 2, false, {0, mib});
    EXPECT_EQ(files->requests(), requests);
    EXPECT_EQ(files->locks().called_back, 1);
  });
}

TEST_F(PagedTest, WithoutLocksAnOpenLooksForChanges) {
  profile.locks = false;
  profile.commits_at_close = true;
  rebuild(2, 1);
  run([&] {
    files->open(0, file_6);
    access(0, true, {0, mib});
    files->close(0, file_6);
    EXPECT_EQ(written(), mib);
    EXPECT_GE(drives[0]->counts().written_bytes, mib);  // committed
    files->open(1, file_6);
    access(1, false, {0, mib});
    EXPECT_EQ(read(), mib);
    files->close(1, file_6);
    files->open(1, file_6);
    access(1, false, {0, mib});
    EXPECT_EQ(read(), mib);  // nothing has changed
    files->open(0, file_6);
    access(0, true, {0, 4096});
    files->close(0, file_6);
    access(1, false, {0, mib});
    EXPECT_EQ(read(), mib);  // not opened anew
    files->open(1, file_6);
    access(1, false, {0, mib});
    EXPECT_EQ(read(), 2 * mib);
  });
  EXPECT_EQ(files->locks().asked, 0);
}

TEST_F(PagedTest, MetadataIsTheMetadataServers) {
  profile.create = 5 * millisecond;
  profile.open = 3 * millisecond;
  profile.close = 2 * millisecond;
  rebuild();
  run([&] {
    const auto took = [&](auto act) {
      const Picoseconds began = kernel->now();
      act();
      return kernel->now() - began;
    };
    EXPECT_NEAR(took([&] { files->create(0, file_6); }), 5e9, 0.1e9);
    EXPECT_NEAR(took([&] { files->open(0, file_6); }), 3e9, 0.1e9);
    EXPECT_NEAR(took([&] { files->close(0, file_6); }), 2e9, 0.1e9);
  });
}

// Processes of several nodes read and write at random, with little memory: all of them end, and
// what they have written is with the servers after their closes.
TEST_F(PagedTest, EverybodyGetsOnWhateverTheOthersDo) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SeededRandom random(seed);
    profile = {};
    profile.locks = !random.one_in(3);
    profile.commits_at_close = true;
    profile.stripe_bytes = 64 * kib << random.below(5);
    profile.stripe_count = 1 + random.below(5);
    profile.cache_bytes = 16 * kib << random.below(12);
    profile.dirty_bytes = 8 * kib << random.below(12);
    profile.read_ahead_bytes = random.one_in(2) ? 0 : 4 * mib;
    profile.rpc_bytes = 4 * kib << random.below(10);
    profile.extents_an_rpc = 1 + random.below(20);
    profile.rpcs_in_flight = 1 + random.below(8);
    profile.carried_bytes = random.below(2) * 16 * kib;
    const auto clients = static_cast<uint32_t>(1 + random.below(4));
    rebuild(clients, static_cast<uint32_t>(1 + random.below(4)));
    if (random.one_in(2)) files->place(file_6, random.below(2 * mib));
    std::vector<std::unique_ptr<Process>> processes;
    for (int64_t p = 0; p < 1 + random.below(8); ++p) {
      const auto client = static_cast<uint32_t>(random.below(clients));
      processes.push_back(std::make_unique<Process>(
          *kernel,
          [this, client, mine = SeededRandom(seed * 100 + static_cast<uint64_t>(p))]() mutable {
            files->open(client, file_6);
            int64_t next = 0;
            for (int64_t step = 0; step < 60; ++step) {
              const int64_t offset = mine.one_in(2) ? next : mine.below(3 * mib);
              const int64_t bytes = 1 + mine.below(mine.one_in(4) ? mib : 2000);
              next = offset + bytes;
              access(client, mine.one_in(2), {offset, bytes});
            }
            files->close(client, file_6);
          }));
    }
    EXPECT_TRUE(kernel->run());
    for (const auto& process : processes) ASSERT_TRUE(process->ended()) << seed;
    for (uint32_t client = 0; client < clients; ++client)
      EXPECT_EQ(files->dirty_bytes(client), 0) << seed;
    int64_t stored = 0;
    for (const auto& storage : storages) stored += storage->size(file_6);
    if (profile.stripe_count == 1 || files->servers() == 1) {
      EXPECT_EQ(stored, files->size(file_6)) << seed;
    }
  }
}

}  // namespace
}  // namespace forebay::sim
