// A job on a simulated cluster: its processes make the accesses of a log, each one after the other,
// through a cache of the engine or straight to the file system.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sim/access_log.h"
#include "sim/cluster/client_node.h"
#include "sim/cluster/collective_calls.h"
#include "sim/cluster/machine.h"
#include "sim/cluster/owned_files.h"
#include "sim/cluster/two_phase.h"
#include "sim/progress.h"
#include "sim/recorded_steps.h"

namespace forebay::sim {

// Whose cache it is. The caches of several nodes, or processes, hold what their own processes wrote
// until a close, as with consistency=mpi; those of a job hold what their nodes own.
enum class Caching : uint8_t { none, process, node, job };

// The job and its machine.
struct ClusterSettings : MachineSettings {
  std::vector<uint32_t> node_of_process;  // by process of the log
  Caching caching = Caching::none;
  bool collective = false;  // otherwise collective calls are independent ones
  // For logs that mark no collective calls: the longest time between the starts of accesses that
  // are taken for one. Negative: none are.
  int64_t union_window_ns = -1;
  Picoseconds message = 0;     // the time of a short message
  TwoPhaseSettings two_phase;  // of collective calls without a cache
  ClientCacheSettings cache;   // the capacity is one process's share
  // Of the caches of processes or nodes: what a recorded run did to them, which is done again.
  // Null: the processes make the accesses of the log.
  std::shared_ptr<const RecordedSteps> steps;
  // Of the job's caches: how a file's bytes are assigned, with which facts (all but the nodes and
  // stripes), and how many nodes own some; 0: all.
  const AssignmentSpec* assignment = nullptr;
  int64_t chunk_bytes = 4 << 20;
  uint32_t owners = 0;
  Picoseconds call_time = 0;           // of the library, for each access
  double copy_bytes_per_second = 4e9;  // between a program's memory and a cache
  bool timeline = false;               // keep what each process does when
  bool series = false;                 // keep what the parts of the cluster did by when
  bool waits = false;                  // keep who waited for whom
  double think = 0;  // the part of the time between accesses that the processes compute
};

// Where a process's time went.
struct ProcessTimes {
  Picoseconds end = 0;
  Picoseconds computing = 0, opening = 0, reading = 0, writing = 0, closing = 0;
};

// What a process does for some time.
enum class Doing : uint8_t { computing, opening, reading, writing, closing };
struct Span {
  static constexpr uint32_t no_file = std::numeric_limits<uint32_t>::max();
  Picoseconds start, end;
  int64_t bytes;
  uint32_t process;
  uint32_t file;  // by number of the log, or no_file
  Doing doing;
};

// Readings of the cluster's counters over time. A reading has for each server how long it has
// worked at requests, disks aside, and how long the requests that wait for it will take; for each
// device how long it has worked, and how many requests it has; for each link how long it was in
// use: from each host (nodes, servers, metadata), then to each. Times are in picoseconds.
struct ClusterSeries {
  uint32_t servers = 0, hosts = 0;
  std::vector<Picoseconds> times;
  std::vector<int64_t> readings;  // one after the other
};

struct ClusterResult {
  Picoseconds run_time = 0;  // until the last process has closed its files
  std::vector<ProcessTimes> processes;
  std::vector<Span> timeline;  // in the order of the ends
  ClusterSeries series;
  int64_t accesses = 0, read_bytes = 0, written_bytes = 0;
  Statistics caches;  // sums
  uint32_t cache_count = 0;
  int64_t requests = 0;  // to servers, for bytes
  LockCounts locks;
  TwoPhase::Counts two_phase;
  int64_t calls_without_some = 0;  // collective ones that took place though a process never came
  OwnedFiles::Counts owned;
  Network::Counts network;
  std::vector<FileServerCounts> servers;
  std::vector<DeviceCounts> devices;
  Waits waits;  // by host: nodes, servers, metadata
  uint32_t hosts = 0;
  uint64_t events = 0;
};

// `progress` counts the accesses that have ended.
ClusterResult simulate_cluster(const AccessLog& log, const ClusterSettings& settings,
                               Progress& progress);

}  // namespace forebay::sim
