// Collective calls without a cache: processes meet, aggregators move few large ranges, and no order
// of calls makes the simulation wait for ever.
#include "sim/cluster/two_phase.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "page/page_kind.h"
#include "policy/policy.h"
#include "predict/predictor.h"
#include "sim/cluster/cluster.h"
#include "unit/sim/cluster/sizes.h"

namespace forebay::sim {
namespace {

ClusterSettings two_phase_on(uint32_t nodes, uint32_t processes_per_node, bool used = true) {
  ClusterSettings settings;
  for (uint32_t p = 0; p < nodes * processes_per_node; ++p)
    settings.node_of_process.push_back(p / processes_per_node);
  settings.servers = 4;
  settings.device = wd800jd();
  settings.collective = used;
  settings.message = 60 * microsecond;
  settings.two_phase = {0, 1 * mib};
  return settings;
}

// A log of calls, in their order.
class Calls {
 public:
  explicit Calls(std::vector<uint32_t> ranks_of_group) {
    log_.set_group_ranks(std::move(ranks_of_group));
  }
  Calls& add(uint32_t process, int64_t offset, int64_t bytes, bool writes = true,
             uint32_t group = 0) {
    DataAccess access;
    access.start_ns = access.end_ns = ++time_;
    access.process = process;
    access.file = group == independent ? 0 : group;
    access.handle = process * 16 + access.file;
    access.group = group;
    access.offset = offset;
    access.end = offset + bytes;
    access.bytes = bytes;
    access.writes = writes;
    EXPECT_TRUE(log_.add(access));
    return *this;
  }
  ClusterResult simulated(const ClusterSettings& settings) const {
    Progress progress;
    ClusterResult result = simulate_cluster(log_, settings, progress);
    EXPECT_EQ(progress.done.load(), log_.accesses().size());
    return result;
  }

 private:
  AccessLog log_{1 << 20};
  int64_t time_ = 0;
};

// In each call the processes have a piece each, the last process the first one.
Calls interleaved(uint32_t processes, int64_t pieces, bool writes, uint32_t group = 0) {
  Calls calls({processes});
  for (int64_t i = 0; i < pieces; ++i) {
    for (uint32_t p = 0; p < processes; ++p)
      calls.add(p, (i * processes + processes - 1 - p) * kib, 1 * kib, writes, group);
  }
  return calls;
}

int64_t written(const ClusterResult& result) {
  int64_t bytes = 0;
  for (const auto& server : result.servers) bytes += server.written_bytes;
  return bytes;
}

int64_t read(const ClusterResult& result) {
  int64_t bytes = 0;
  for (const auto& server : result.servers) bytes += server.read_bytes;
  return bytes;
}

TEST(TwoPhase, PiecesOfAllProcessesBecomeOneRequestOfAnAggregator) {
  const ClusterResult united = interleaved(8, 10, true).simulated(two_phase_on(2, 4));
  EXPECT_EQ(united.two_phase.calls, 10);
  EXPECT_EQ(united.calls_without_some, 0);
  EXPECT_EQ(united.two_phase.exchanged_bytes, 80 * kib);
  EXPECT_EQ(written(united), 80 * kib);
  EXPECT_EQ(read(united), 0);
  EXPECT_EQ(united.requests, 10 * 2);  // an aggregator on each node
  const ClusterResult alone = interleaved(8, 10, true).simulated(two_phase_on(2, 4, false));
  EXPECT_EQ(alone.two_phase.calls, 0);
  EXPECT_EQ(alone.requests, 80);
}

TEST(TwoPhase, ReadsAreSentToTheProcesses) {
  const ClusterResult result = interleaved(8, 10, false).simulated(two_phase_on(2, 4));
  EXPECT_EQ(read(result), 80 * kib);
  EXPECT_EQ(result.two_phase.exchanged_bytes, 80 * kib);
  EXPECT_EQ(result.two_phase.calls, 10);
}

TEST(TwoPhase, AllProcessesLeaveTheCallTogether) {
  const ClusterResult result = interleaved(8, 1, true).simulated(two_phase_on(2, 4));
  for (const ProcessTimes& times : result.processes) EXPECT_EQ(times.end, result.run_time);
}

// As ROMIO does: nothing is gained where each process has a part of the file of its own.
TEST(TwoPhase, ProcessesThatAreApartMeetAndAccessByThemselves) {
  Calls calls({4});
  calls.add(0, 0, 40 * mib, true, independent);  // process 0 comes late
  for (uint32_t p = 0; p < 4; ++p) calls.add(p, (40 + p) * mib, mib);
  const ClusterResult result = calls.simulated(two_phase_on(4, 1));
  EXPECT_EQ(result.two_phase.calls, 0);
  EXPECT_EQ(result.two_phase.exchanged_bytes, 0);
  EXPECT_EQ(written(result), 44 * mib);
  const Picoseconds late = time_of(40 * mib, 4 * 125e6);  // over the servers' links
  for (const ProcessTimes& times : result.processes) EXPECT_GT(times.writing, late);
}

TEST(TwoPhase, BuffersMakeRoundsAndHintsLimitAggregators) {
  const auto requests = [](uint32_t aggregators) {
    ClusterSettings settings = two_phase_on(4, 1);
    settings.two_phase.aggregators = aggregators;
    settings.two_phase.buffer_bytes = 64 * kib;
    std::get<PvfsProfile>(settings.file_system).strip_bytes =
        mib;  // aggregators have servers of their own
    Calls calls({4});
    for (uint32_t p = 0; p < 4; ++p) calls.add(p, (3 - p) * mib, mib);
    const ClusterResult result = calls.simulated(settings);
    EXPECT_EQ(written(result), 4 * mib);
    EXPECT_EQ(result.requests, 64);
    return result.run_time;
  };
  EXPECT_LT(requests(0), requests(1));
}

TEST(TwoPhase, BytesBetweenAreReadBeforeTheyAreWritten) {
  Calls calls({2});
  calls.add(0, 0, 64 * kib, true, independent);
  calls.add(0, 8 * kib, kib).add(1, 0, kib);
  const ClusterResult result = calls.simulated(two_phase_on(1, 2));
  EXPECT_EQ(written(result), 64 * kib + 9 * kib);
  EXPECT_EQ(read(result), 9 * kib);

  Calls fresh({2});
  fresh.add(0, 8 * kib, kib).add(1, 0, kib);
  EXPECT_EQ(read(fresh.simulated(two_phase_on(1, 2))), 0);  // there is nothing yet
}

TEST(TwoPhase, RoundsWithoutRequestedBytesTakeNoTime) {
  Calls calls({2});
  calls.add(0, int64_t{1} << 36, kib).add(1, 0, kib);
  ClusterSettings settings = two_phase_on(1, 2);
  settings.two_phase.aggregators = 1;
  settings.two_phase.buffer_bytes = 64;
  const ClusterResult result = calls.simulated(settings);
  EXPECT_EQ(written(result), 2 * kib);
  EXPECT_LT(result.run_time, 1 * second);
}

TEST(TwoPhase, ACallGoesOnWithoutAProcessThatNeverComes) {
  Calls calls({3});
  calls.add(0, 2 * kib, kib).add(1, kib, kib).add(2, 0, kib);
  calls.add(0, 4 * kib, kib).add(2, 3 * kib, kib);
  const ClusterResult result = calls.simulated(two_phase_on(1, 3));
  EXPECT_EQ(result.two_phase.calls, 2);
  EXPECT_EQ(written(result), 5 * kib);
}

TEST(TwoPhase, CallsInContraryOrdersDoNotWaitForEachOther) {
  Calls calls({2, 2});
  calls.add(0, 0, kib, true, 0).add(1, 0, kib, true, 1);
  calls.add(0, kib, kib, true, 1).add(1, kib, kib, true, 0);
  const ClusterResult result = calls.simulated(two_phase_on(1, 2));
  EXPECT_EQ(written(result), 4 * kib);
  EXPECT_GE(result.calls_without_some, 1);
  for (const ProcessTimes& times : result.processes) EXPECT_GT(times.end, 0);
}

TEST(TwoPhase, AccessesOfAWindowAreOneCallWhereNoneIsMarked) {
  ClusterSettings settings = two_phase_on(2, 4);
  const Calls calls = interleaved(8, 10, true, independent);
  EXPECT_EQ(calls.simulated(settings).two_phase.calls, 0);
  settings.union_window_ns = 1000;  // the calls are 1 ns apart
  const ClusterResult result = calls.simulated(settings);
  EXPECT_EQ(result.two_phase.calls, 10);  // a process takes part in a call once
  EXPECT_EQ(written(result), 80 * kib);
}

TEST(TwoPhase, CachesTakeNoPart) {
  ClusterSettings settings = two_phase_on(2, 4);
  settings.caching = Caching::node;
  settings.cache.shape = {find_page_kind("tree"), find_policy("lru"), 64 << 10, 4 << 20, 1, 0};
  settings.cache.handles.predictor = find_predictor("signature");
  const ClusterResult result = interleaved(8, 10, true).simulated(settings);
  EXPECT_EQ(result.two_phase.calls, 0);
  EXPECT_EQ(written(result), 80 * kib);
}

}  // namespace
}  // namespace forebay::sim
