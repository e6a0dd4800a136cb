// Does to simulated caches what a trace says was done to the runtime's, in the order of the
// sequence numbers that the runtime drew. Exact for a trace of a run with the option
// `deterministic`; of others the numbers, where there are some, say roughly what came when, and
// what else was done to the caches is not in the trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/instant_cache.h"
#include "trace/job.h"
#include "trace/table.h"

namespace forebay::sim {

enum class Sharing : uint8_t { node, process };  // who shares a cache

struct ReplayedCache {
  std::string name;        // the node, or the process's trace file
  uint32_t processes = 0;  // that used it
  uint64_t steps = 0;
  Statistics statistics;
};

struct Replayed {
  std::vector<ReplayedCache> caches;
  std::string problem;  // why the trace cannot be replayed; "" if it was
};

// All of a job's accesses, in any order. `settings`: the capacity is a process's share; a node's
// cache has that of all ranks that the job has there.
Replayed replay(const trace::Job& job, const trace::Table& table, const CacheSettings& settings,
                Sharing sharing);

}  // namespace forebay::sim
