// Jobs on simulated clusters: every byte arrives, with every kind of cache; the caches are those of
// the engine.
#include "sim/cluster/cluster.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "page/page_kind.h"
#include "policy/policy.h"
#include "predict/predictor.h"
#include "sim/cluster/series.h"
#include "sim/instant_cache.h"

namespace forebay::sim {
namespace {

ClusterSettings settings_for(uint32_t nodes, uint32_t processes_per_node, Caching caching) {
  ClusterSettings settings;
  for (uint32_t p = 0; p < nodes * processes_per_node; ++p)
    settings.node_of_process.push_back(p / processes_per_node);
  settings.servers = 4;
  settings.server.cache_bytes = 256 << 20;
  settings.device = wd800jd();
  settings.caching = caching;
  settings.assignment = find_assignment("cyclic");
  settings.chunk_bytes = 256 << 10;
  settings.cache.shape = {find_page_kind("tree"), find_policy("lru"), 64 << 10, 4 << 20, 1, 0};
  settings.cache.handles.predictor = find_predictor("signature");
  settings.call_time = 1 * microsecond;
  return settings;
}

DataAccess access_to(uint32_t process, int64_t offset, int64_t bytes, bool writes,
                     uint32_t file = 0) {
  static int64_t time = 0;
  DataAccess access;
  access.start_ns = access.end_ns = ++time;
  access.process = process;
  access.handle = process * 16 + file;
  access.file = file;
  access.offset = offset;
  access.end = offset + bytes;
  access.bytes = bytes;
  access.writes = writes;
  return access;
}

ClusterResult simulated(const AccessLog& log, const ClusterSettings& settings) {
  Progress progress;
  const ClusterResult result = simulate_cluster(log, settings, progress);
  EXPECT_EQ(progress.done.load(), log.accesses().size());
  EXPECT_EQ(result.processes.size(), log.processes());
  for (const ProcessTimes& times : result.processes) {
    EXPECT_GT(times.end, 0);
    EXPECT_EQ(times.end,
              times.computing + times.opening + times.reading + times.writing + times.closing);
  }
  return result;
}

int64_t arrived(const ClusterResult& result) {
  int64_t bytes = 0;
  for (const FileServerCounts& server : result.servers) bytes += server.written_bytes;
  return bytes;
}

// Records of 300 bytes, the processes' one after the other.
AccessLog interleaved_records(uint32_t processes, int records) {
  AccessLog log(1 << 20);
  for (int r = 0; r < records; ++r) {
    for (uint32_t p = 0; p < processes; ++p)
      log.add(access_to(p, (int64_t{r} * processes + p) * 300, 300, true));
  }
  return log;
}

// Of each kind. What programs have written is with the servers when they have closed their files.
std::variant<PvfsProfile, PagedProfile, MeasuredProfile> any_file_system(std::mt19937& random) {
  const auto below = [&random](uint32_t n) { return static_cast<int64_t>(random() % n); };
  const int64_t kind = below(5);
  if (kind < 2) {
    PvfsProfile pvfs;
    pvfs.strip_bytes = 1000 + below(100'000);
    return pvfs;
  }
  if (kind == 2) {
    MeasuredProfile measured;
    measured.write.alone = below(1000) * microsecond;
    measured.read.together = below(1000) * microsecond;
    measured.close_rate = static_cast<double>(below(2) * (1 + below(1'000'000)));
    measured.requests_at_once = 1 + below(8);
    return measured;
  }
  PagedProfile paged;
  paged.locks = below(2) == 0;
  paged.stripe_bytes = (64 << 10) << below(6);
  paged.stripe_count = 1 + below(6);
  paged.dirty_bytes = (64 << 10) << below(8);
  paged.commits_at_close = true;
  return paged;
}

TEST(Cluster, SmallWritesBecomeFewRequests) {
  const AccessLog log = interleaved_records(8, 500);
  const ClusterResult none = simulated(log, settings_for(2, 4, Caching::none));
  const ClusterResult node = simulated(log, settings_for(1, 8, Caching::node));
  EXPECT_GE(none.requests, 4000);
  EXPECT_LT(node.requests, 100);
  EXPECT_EQ(arrived(none), 8 * 500 * 300);
  EXPECT_EQ(arrived(node), 8 * 500 * 300);
  EXPECT_LT(node.run_time, none.run_time / 4);
}

TEST(Cluster, WaitsAreKeptIfAskedFor) {
  const AccessLog log = interleaved_records(8, 50);
  ClusterSettings settings = settings_for(2, 4, Caching::none);
  const ClusterResult without = simulated(log, settings);
  EXPECT_TRUE(without.waits.sums().empty());
  settings.waits = true;
  const ClusterResult with = simulated(log, settings);
  int64_t times = 0;
  for (const auto& [key, sum] : with.waits.sums()) times += sum.times;
  EXPECT_GE(times, with.requests);
  EXPECT_EQ(with.events, without.events);
  EXPECT_EQ(with.run_time, without.run_time);
}

TEST(Cluster, ACacheOfEachNodeLeavesHolesToTheOthers) {
  const AccessLog log = interleaved_records(8, 500);
  for (const Caching caching : {Caching::process, Caching::node}) {
    const ClusterResult result = simulated(log, settings_for(2, 4, caching));
    EXPECT_EQ(arrived(result), 8 * 500 * 300);
    EXPECT_EQ(result.cache_count, caching == Caching::node ? 2u : 8u);
  }
}

TEST(Cluster, OwnersMergeTheRecordsOfAllNodes) {
  const AccessLog log = interleaved_records(8, 5000);
  const int64_t bytes = 8 * 5000 * 300;
  ClusterSettings settings = settings_for(4, 2, Caching::node);
  settings.cache.shape.capacity_bytes = 16 << 20;
  const ClusterResult node = simulated(log, settings);
  settings.caching = Caching::job;
  for (const char* const name : {"cyclic", "stripe", "file"}) {
    settings.assignment = find_assignment(name);
    const ClusterResult job = simulated(log, settings);
    EXPECT_EQ(arrived(job), bytes) << name;
    EXPECT_LT(job.requests, node.requests / 4) << name;
    EXPECT_EQ(job.cache_count, 4u);
    // Three quarters of the bytes are other nodes'; the file has one owner, if it was empty.
    const int64_t own = bytes / (name == std::string("file") ? 1 : 4);
    if (name != std::string("file")) {
      EXPECT_NEAR(static_cast<double>(job.owned.moved_bytes), static_cast<double>(bytes - own),
                  static_cast<double>(bytes) / 50);
    }
    EXPECT_GT(job.owned.questions, 8 * 5000 / 2);
  }
  settings.owners = 1;
  EXPECT_EQ(simulated(log, settings).owned.moved_bytes, bytes * 3 / 4);
  EXPECT_EQ(arrived(simulated(log, settings)), bytes);
}

// Records of 300 bytes, by one collective call of each process for each part of the file.
AccessLog calls_after(const AccessLog& before, uint32_t processes, int64_t calls, bool writes) {
  constexpr int64_t pieces = 2000, piece_bytes = 300;
  AccessLog log = before;
  log.set_group_ranks({processes});
  for (int64_t call = 0; call < calls; ++call) {
    for (uint32_t p = 0; p < processes; ++p) {
      const int64_t origin = call * pieces * piece_bytes * processes + p * piece_bytes;
      DataAccess access = access_to(p, origin, pieces * piece_bytes, writes);
      access.view = log.add_view(Tiling{Layout::block(piece_bytes), origin,
                                        piece_bytes * static_cast<int64_t>(processes)});
      access.end = origin + ((pieces - 1) * processes + 1) * piece_bytes;
      access.group = 0;
      EXPECT_TRUE(log.add(access));
    }
  }
  return log;
}

ClusterSettings job_settings(uint32_t nodes) {
  ClusterSettings settings = settings_for(nodes, 1, Caching::job);
  settings.collective = true;
  settings.message = 10 * microsecond;
  settings.cache.shape.capacity_bytes = 64 << 20;
  return settings;
}

// A process opens a file that it has written anew, and reads it: the pages are still good, unless
// another node has written meanwhile, or steps are to be exact.
TEST(Cluster, PagesStayGoodOverAnOpenIfNobodyElseHasWritten) {
  constexpr int64_t bytes = 1 << 20, record = 1 << 14;
  const auto fetched = [](uint32_t nodes, bool deterministic, bool keeps = true) {
    AccessLog log(1 << 14);
    for (int64_t at = 0; at < bytes; at += record) log.add(access_to(0, at, record, true));
    if (nodes > 1) {  // after process 0 has opened the file, and before it does so again
      for (int64_t at = 0; at < 4 * bytes; at += record) log.add(access_to(1, at, record, true, 2));
      log.add(access_to(1, bytes, record, true));
      for (int64_t at = 0; at < 64 * bytes; at += record)
        log.add(access_to(0, at, record, true, 1));
    }
    for (int64_t at = 0; at < bytes; at += record) {
      DataAccess access = access_to(0, at, record, false);
      access.handle += 8;
      log.add(access);
    }
    ClusterSettings settings = settings_for(nodes, 1, Caching::node);
    settings.cache.shape.capacity_bytes = 256 << 20;
    settings.cache.handles.dirty_bound = 0;  // pages are clean soon
    settings.cache.handles.deterministic = deterministic;
    settings.cache.keeps_pages = keeps;
    return simulated(log, settings).caches.fetched_bytes;
  };
  EXPECT_EQ(fetched(1, false), 0);
  EXPECT_GE(fetched(1, true), bytes / 2);
  EXPECT_GE(fetched(1, false, false), bytes / 2);
  EXPECT_GE(fetched(2, false), bytes / 2);
}

// What processes asked agents before makes the windows of a collective call no smaller: each asks
// each owner once.
TEST(Cluster, WindowsOfACallDoNotCountTheHandlesOfAgents) {
  constexpr uint32_t processes = 8;
  AccessLog before(1 << 12);
  for (uint32_t p = 0; p < processes; ++p) {
    for (int64_t chunk = 0; chunk < 8; ++chunk)
      before.add(access_to(p, chunk * (256 << 10) + 100 * p, 100, true));
  }
  const ClusterSettings settings = job_settings(processes);
  const int64_t alone = simulated(before, settings).owned.questions;
  const ClusterResult both = simulated(calls_after(before, processes, 1, true), settings);
  EXPECT_EQ(both.owned.questions - alone, processes * (processes - 1));
}

// Bytes that other nodes own are not fetched ahead.
TEST(Cluster, OwnersFetchEachByteOnce) {
  constexpr uint32_t processes = 4;
  constexpr int64_t calls = 16, bytes = 16 * 2000 * 300 * 4;
  AccessLog first(1 << 12);
  first.add(access_to(0, 0, 1, false));  // the file is there
  const AccessLog reads = calls_after(first, processes, calls, false);
  AccessLog log = reads;
  log.add(access_to(0, bytes, 1, true));  // and is written to, so that it has owners
  const ClusterResult result = simulated(log, job_settings(processes));
  EXPECT_GE(result.caches.fetched_bytes, bytes);
  EXPECT_LT(result.caches.fetched_bytes, bytes + bytes / 50);
}

TEST(Cluster, OnOneNodeAJobsCacheIsTheNodes) {
  const AccessLog log = interleaved_records(4, 200);
  const ClusterResult node = simulated(log, settings_for(1, 4, Caching::node));
  const ClusterResult job = simulated(log, settings_for(1, 4, Caching::job));
  EXPECT_EQ(node.run_time, job.run_time);
  EXPECT_EQ(node.events, job.events);
  EXPECT_EQ(job.owned.questions, 0);
}

// A long run goes past the caches, after its owners have handed over what they hold of it.
TEST(Cluster, LongRunsAskTheirOwners) {
  AccessLog log(1 << 20);
  log.add(access_to(0, 0, 100, true));
  log.add(access_to(1, 300'000, 100, true));
  log.add(access_to(1, 0, 1 << 20, true));
  ClusterSettings settings = settings_for(2, 1, Caching::job);
  settings.cache.handles.bypass_bytes = 512 << 10;
  const ClusterResult result = simulated(log, settings);
  EXPECT_EQ(result.caches.bypass_bytes, 1 << 20);
  EXPECT_GE(arrived(result), 1 << 20);
  EXPECT_LE(arrived(result), (1 << 20) + 200);
  EXPECT_EQ(result.owned.questions, 3);  // before, after, and the close
  EXPECT_EQ(result.owned.moved_bytes, 0);
}

TEST(Cluster, ReadsFindWhatIsThere) {
  AccessLog log(1 << 20);
  for (int64_t r = 0; r < 1000; ++r) {
    for (uint32_t p = 0; p < 4; ++p) log.add(access_to(p, (r * 4 + p) * 4096, 4096, false));
  }
  for (const Caching caching : {Caching::none, Caching::process, Caching::node}) {
    const ClusterResult result = simulated(log, settings_for(1, 4, caching));
    EXPECT_EQ(result.read_bytes, 4 * 1000 * 4096);
    int64_t read = 0;
    for (const DeviceCounts& disk : result.devices) read += disk.read_bytes;
    EXPECT_GE(read, 4 * 1000 * 4096);
    if (caching == Caching::node) {
      EXPECT_LE(result.caches.fetched_bytes, 4 * 1100 * 4096);
    }
  }
}

TEST(Cluster, TheSameRunTwice) {
  const AccessLog log = interleaved_records(8, 100);
  for (const Caching caching : {Caching::none, Caching::process, Caching::node}) {
    const ClusterSettings settings = settings_for(4, 2, caching);
    const ClusterResult one = simulated(log, settings), other = simulated(log, settings);
    EXPECT_EQ(one.run_time, other.run_time);
    EXPECT_EQ(one.events, other.events);
    EXPECT_EQ(one.caches, other.caches);
  }
}

TEST(Cluster, ProcessesComputeBetweenAccesses) {
  AccessLog log(1 << 10);
  for (int64_t r = 0; r < 10; ++r) {
    DataAccess access = access_to(0, r * 100, 100, true);
    access.start_ns = r * 1'000'000;
    access.end_ns = access.start_ns + 400'000;
    log.add(access);
  }
  ClusterSettings settings = settings_for(1, 1, Caching::none);
  EXPECT_EQ(simulated(log, settings).processes[0].computing, 0);
  settings.think = 2;
  EXPECT_EQ(simulated(log, settings).processes[0].computing, 2 * 9 * 600 * microsecond);
}

// Reads of more than read_ahead between which the process computes. Two of them must have room in
// half of the cache.
TEST(Cluster, LongReadsAreFetchedAheadWhereTheProcessComputes) {
  constexpr int64_t bytes = 16 << 20;
  AccessLog log(64);
  for (int64_t r = 0; r < 20; ++r) {
    DataAccess access = access_to(0, 3 * r * bytes, bytes, false);
    access.start_ns = r * 500'000'000;
    access.end_ns = access.start_ns + 1'000'000;
    log.add(access);
  }
  ClusterSettings settings = settings_for(1, 1, Caching::process);
  settings.think = 1;
  settings.cache.shape.capacity_bytes = 64 << 20;
  const ClusterResult ahead = simulated(log, settings);
  settings.cache.shape.capacity_bytes = 63 << 20;
  const ClusterResult cramped = simulated(log, settings);
  settings.cache.handles.read_ahead_bytes = 0;
  const ClusterResult none = simulated(log, settings);
  EXPECT_GT(ahead.caches.fetched_bytes, 12 * bytes);
  EXPECT_LT(ahead.caches.fetched_bytes, 20 * bytes);
  EXPECT_EQ(cramped.caches.fetched_bytes, 0);
  EXPECT_EQ(none.caches.fetched_bytes, 0);
  EXPECT_EQ(cramped.run_time, none.run_time);
  EXPECT_LT(4 * (ahead.run_time - ahead.processes[0].computing),
            3 * (none.run_time - none.processes[0].computing));
  EXPECT_EQ(ahead.read_bytes, 20 * bytes);
}

// One process, and no decision that depends on time: what the cache counts is what the instant
// cache counts, since both are the engine.
TEST(Cluster, CachesCountWhatTheEngineCounts) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    ClusterSettings settings = settings_for(1, 1, Caching::process);
    settings.cache.handles.deterministic = true;
    settings.cache.handles.step_aside = SteppingAside::never;
    settings.cache.handles.bypass_bytes = 100'000;
    settings.cache.shape.page_size = 4096 << (seed % 4);
    settings.cache.shape.capacity_bytes = settings.cache.shape.page_size * (2 + seed * 3);
    settings.cache.shape.policy = find_policy(seed % 2 == 0 ? "lru" : "arc");
    AccessLog log(1 << 12);
    CacheSettings instant;
    instant.shape = settings.cache.shape;
    instant.handles = settings.cache.handles;
    InstantCache expected(instant);
    const InstantCache::HandleIndex handle = expected.open(0, true, 0);
    for (int a = 0; a < 1000; ++a) {
      const bool writes = a == 0 || random() % 2 == 0;
      const int64_t offset = static_cast<int64_t>(random() % 1'000'000);
      const int64_t bytes =
          1 + static_cast<int64_t>(random() % (random() % 10 == 0 ? 200'000 : 3000));
      log.add(access_to(0, offset, bytes, writes));
      Access access;
      access.writes = writes;
      access.position = offset;
      access.bytes = bytes;
      expected.access(handle, access);
    }
    expected.close(handle, false);
    const Statistics counted = simulated(log, settings).caches;
    EXPECT_EQ(counted.hits, expected.statistics().hits) << seed;
    EXPECT_EQ(counted.misses, expected.statistics().misses) << seed;
    EXPECT_EQ(counted.evictions, expected.statistics().evictions) << seed;
    EXPECT_EQ(counted.committed_bytes, expected.statistics().committed_bytes) << seed;
    EXPECT_EQ(counted.fetched_bytes, expected.statistics().fetched_bytes) << seed;
    EXPECT_EQ(counted.bypass_bytes, expected.statistics().bypass_bytes) << seed;
    EXPECT_EQ(counted.write_requests, expected.statistics().write_requests) << seed;
    EXPECT_EQ(counted.read_requests, expected.statistics().read_requests) << seed;
  }
}

// Each process writes its pieces of the file in one call, through a view; or reads them.
AccessLog one_call(uint32_t processes, int64_t pieces, int64_t piece_bytes, bool collective,
                   bool writes = true) {
  AccessLog log(1 << 10);
  log.set_group_ranks({processes});
  for (uint32_t p = 0; p < processes; ++p) {
    DataAccess access = access_to(p, p * piece_bytes, pieces * piece_bytes, writes);
    access.view = log.add_view(Tiling{Layout::block(piece_bytes), p * piece_bytes,
                                      piece_bytes * static_cast<int64_t>(processes)});
    access.end = access.offset + (pieces - 1) * processes * piece_bytes + piece_bytes;
    if (collective) access.group = 0;
    EXPECT_TRUE(log.add(access));
  }
  return log;
}

// A cache of 64 pages, and a call that takes 366. Process 0 comes first, as it makes the file.
TEST(Cluster, ProcessesOfACollectiveCallKeepPace) {
  ClusterSettings settings = settings_for(1, 4, Caching::node);
  settings.collective = true;
  settings.cache.shape.capacity_bytes = 1 << 20;
  const ClusterResult apart = simulated(one_call(4, 20'000, 300, false), settings);
  const ClusterResult paced = simulated(one_call(4, 20'000, 300, true), settings);
  EXPECT_LT(apart.caches.pace_waits, paced.caches.pace_waits);
  EXPECT_GT(paced.caches.pace_waits, 0);
  EXPECT_LT(2 * paced.caches.write_requests, apart.caches.write_requests);
  for (const ClusterResult& result : {apart, paced}) EXPECT_EQ(arrived(result), 4 * 20'000 * 300);
  // Where the cache holds all, or decisions must not depend on time, nobody waits.
  settings.cache.shape.capacity_bytes = 64 << 20;
  EXPECT_EQ(simulated(one_call(4, 20'000, 300, true), settings).caches.pace_waits, 0);
  settings.cache.shape.capacity_bytes = 1 << 20;
  settings.cache.handles.deterministic = true;
  EXPECT_EQ(simulated(one_call(4, 20'000, 300, true), settings).caches.pace_waits, 0);
}

// The last process comes late to a call of one byte each.
TEST(Cluster, ProcessesOfACollectiveCallWaitForEachOther) {
  for (const auto& [nodes, caching] :
       {std::pair{1u, Caching::node}, {2u, Caching::node}, {2u, Caching::job}}) {
    AccessLog log(16);
    log.set_group_ranks({4});
    log.add(access_to(3, 1 << 20, 40 << 20, true));
    for (uint32_t p = 0; p < 4; ++p) {
      DataAccess access = access_to(p, p, 1, true);
      access.group = 0;
      log.add(access);
    }
    ClusterSettings settings = settings_for(nodes, 4 / nodes, caching);
    settings.collective = true;
    settings.message = 50 * microsecond;
    settings.waits = true;
    const ClusterResult result = simulated(log, settings);
    const Picoseconds late = time_of(40 << 20, 4 * 125e6);  // over the servers' links
    for (const ProcessTimes& times : result.processes) EXPECT_GT(times.writing, late);
    int64_t waited = 0;
    for (const auto& [key, sum] : result.waits.sums())
      if (key.reason == Waiting::collective) waited += sum.times;
    EXPECT_EQ(waited, 3);
    settings.collective = false;
    EXPECT_LT(simulated(log, settings).processes[0].writing, late);
    settings.collective = true;
    settings.caching = Caching::process;  // the runtime has no way to wait there
    EXPECT_LT(simulated(log, settings).processes[0].writing, late);
  }
}

// Of a call that one process never comes to, the others do not wait for ever.
TEST(Cluster, CollectiveCallsTakePlaceWithoutTheMissing) {
  for (const Caching caching : {Caching::node, Caching::job}) {
    AccessLog log(16);
    log.set_group_ranks({4, 4});
    for (const uint32_t file : {0u, 1u}) {
      for (uint32_t p = 0; p < 4; ++p) {
        // Processes 0 and 1 make the calls in one order, 2 and 3 in the other.
        DataAccess access = access_to(p, p * 1000, 1000, true, p < 2 ? file : 1 - file);
        access.group = access.file;
        log.add(access);
      }
    }
    ClusterSettings settings = settings_for(2, 2, caching);
    settings.collective = true;
    const ClusterResult result = simulated(log, settings);
    EXPECT_EQ(result.calls_without_some, 1);
    EXPECT_EQ(arrived(result), 8000);
  }
}

// Random jobs on random machines come to their end, and every byte that was written has arrived.
TEST(Cluster, RandomJobsEnd) {
  for (uint32_t seed = 1; seed <= 80; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](uint32_t n) { return static_cast<uint32_t>(random() % n); };
    const uint32_t nodes = 1 + below(3), each = 1 + below(3);
    const auto caching = static_cast<Caching>(seed % 4);
    ClusterSettings settings = settings_for(nodes, each, caching);
    settings.servers = 1 + below(5);
    settings.network.by_frames = below(2) == 0;
    settings.network.buffer_per_port = 20'000;
    settings.cache.shape.page_kind = find_page_kind(below(2) == 0 ? "tree" : "mask");
    settings.cache.shape.page_size = 512 << below(8);
    settings.cache.shape.capacity_bytes = settings.cache.shape.page_size * (1 + below(40));
    settings.cache.shape.shards = 0;
    settings.cache.shape.write_back_buffer = below(3) == 0 ? 0.4 : 0;
    settings.cache.handles.read_ahead_bytes = below(2) == 0 ? 0 : 256 << 10;
    settings.cache.handles.bypass_bytes = 1 + below(100'000);
    settings.cache.handles.dirty_bound = below(2) == 0 ? 0.1 : 0.9;
    settings.cache.commit_size_bytes = 4096 << below(8);
    settings.file_system = any_file_system(random);
    if (below(2) == 0)
      settings.raid = {static_cast<RaidLevel>(below(4)), 4 + below(3), int64_t{512} << below(9)};
    settings.assignment = &assignments()[below(static_cast<uint32_t>(assignments().size()))];
    settings.chunk_bytes = 1 + below(1 << 20);
    settings.owners = below(nodes + 1);
    settings.collective = below(2) == 0;
    settings.message = below(100) * microsecond;
    AccessLog log(1 << 12);
    log.set_group_ranks({nodes * each, nodes * each});
    std::set<std::pair<uint32_t, int64_t>> written;  // file and byte / 10
    int64_t run_at = 0;
    for (int a = 0; a < 300; ++a) {
      const uint32_t file = below(2);
      const bool writes = below(2) == 0;
      int64_t offset = 10 * below(20'000);
      if (below(2) == 0) offset = run_at += 500;
      const int64_t bytes = 10 * (1 + below(below(5) == 0 ? 8000 : 50));
      for (int64_t at = offset; writes && at < offset + bytes; at += 10)
        written.insert({file, at / 10});
      DataAccess access = access_to(below(nodes * each), offset, bytes, writes, file);
      if (below(3) == 0) access.group = file;
      log.add(access);
    }
    const ClusterResult result = simulated(log, settings);
    EXPECT_GE(arrived(result), 10 * std::ssize(written)) << seed;
    const bool pages = std::holds_alternative<PagedProfile>(settings.file_system);
    if (caching == Caching::none && !pages && !settings.collective) {
      EXPECT_EQ(arrived(result), result.written_bytes) << seed;
    }
  }
}

TEST(Cluster, ATimelineHoldsAllThatProcessesDo) {
  const AccessLog log = interleaved_records(4, 20);
  for (const Caching caching : {Caching::none, Caching::process, Caching::node}) {
    ClusterSettings settings = settings_for(2, 2, caching);
    EXPECT_TRUE(simulated(log, settings).timeline.empty());
    settings.timeline = true;
    const ClusterResult result = simulated(log, settings);
    std::vector<Picoseconds> until(4, 0), done(4, 0);
    int64_t bytes = 0;
    for (const Span& span : result.timeline) {
      EXPECT_EQ(span.start, until[span.process]);  // one thing follows the other
      until[span.process] = span.end;
      done[span.process] += span.end - span.start;
      bytes += span.bytes;
      EXPECT_EQ(span.file == Span::no_file, span.doing == Doing::closing);
    }
    for (std::size_t p = 0; p < 4; ++p) EXPECT_EQ(done[p], result.processes[p].end);
    EXPECT_EQ(bytes, 4 * 20 * 300);
  }
}

// Readings of a run of any length, which change nothing in it.
TEST(Cluster, ASeriesHoldsAllThatPartsDo) {
  for (const int records : {20, 2000}) {
    const AccessLog log = interleaved_records(4, records);
    for (const Caching caching : {Caching::none, Caching::node}) {
      ClusterSettings settings = settings_for(2, 2, caching);
      const ClusterResult without = simulated(log, settings);
      EXPECT_TRUE(without.series.times.empty());
      settings.series = true;
      const ClusterResult result = simulated(log, settings);
      EXPECT_EQ(result.run_time, without.run_time);
      EXPECT_EQ(result.events, without.events);
      const ClusterSeries& series = result.series;
      const std::size_t servers = settings.servers;
      ASSERT_EQ(series.servers, servers);
      ASSERT_EQ(series.hosts, 2 + servers + 1);
      ASSERT_LE(series.times.size(), Series::most_readings);
      ASSERT_GE(series.times.size(), 10U);
      EXPECT_EQ(series.times.front(), 0);
      EXPECT_GE(series.times.back(), result.run_time);
      const std::size_t each = 4 * servers + 2 * series.hosts;
      ASSERT_EQ(series.readings.size(), each * series.times.size());
      for (std::size_t i = 1; i < series.times.size(); ++i) {
        EXPECT_LT(series.times[i - 1], series.times[i]);
        for (std::size_t column = 0; column < 4 * servers; column += 2) {  // servers and disks
          const int64_t worked =
              series.readings[i * each + column] - series.readings[(i - 1) * each + column];
          EXPECT_GE(worked, 0);
          EXPECT_LE(worked, series.times[i] - series.times[i - 1]);
        }
      }
      const int64_t* const last = series.readings.data() + each * (series.times.size() - 1);
      for (std::size_t s = 0; s < servers; ++s) {
        EXPECT_EQ(last[2 * s], result.servers[s].busy);
        EXPECT_EQ(last[2 * s + 1], 0);
        EXPECT_EQ(last[2 * servers + 2 * s], result.devices[s].busy);
        EXPECT_EQ(last[2 * servers + 2 * s + 1], 0);
      }
    }
  }
}

}  // namespace
}  // namespace forebay::sim
