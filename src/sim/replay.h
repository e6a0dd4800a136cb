// Replays a recorded run: does to simulated caches what was done to the runtime's
// (recorded_steps.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/instant_cache.h"
#include "sim/recorded_steps.h"

namespace forebay::sim {

struct ReplayedCache {
  std::string name;        // the node, or the process's trace file
  uint32_t processes = 0;  // processes that used it
  uint64_t steps = 0;
  Statistics statistics;
};

struct Replayed {
  std::vector<ReplayedCache> caches;
  std::string problem;  // why the trace cannot be replayed; "" if it was
};

// Replays all of a job's accesses; `table` may hold them in any order. The capacity in `settings`
// is one process's share; the cache of a node has the share of each of the job's ranks there.
Replayed replay(const trace::Job& job, const trace::Table& table, const CacheSettings& settings,
                Sharing sharing);

}  // namespace forebay::sim
