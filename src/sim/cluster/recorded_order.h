// The order of a recorded run (recorded_steps.h) among simulated processes: each makes its own
// steps, one after the other, and the steps of a cache happen one at a time, in their order. So the
// cache counts what the run's cache counted, whatever the machine makes of the times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/cluster/process.h"
#include "sim/recorded_steps.h"

namespace forebay::sim {

class RecordedOrder {
 public:
  struct Turn {
    static constexpr uint32_t no_cache = 0xffffffffu;
    std::size_t row = 0;        // of the table
    uint32_t cache = no_cache;  // an access past the caches has no turn
    uint64_t number = 0;        // among the cache's steps, from 0 on
  };

  // The steps have no problem, and outlive this. Throws std::invalid_argument if the orders of the
  // caches contradict those of the processes.
  explicit RecordedOrder(const RecordedSteps& steps);

  const RecordedSteps& steps() const { return steps_; }
  // One more than the highest number in it.
  uint32_t processes() const { return static_cast<uint32_t>(turns_.size()); }
  std::size_t files() const { return files_; }
  std::size_t first_row() const { return first_row_; }  // of the table, by the start
  // What a process does, in order.
  std::span<const Turn> of_process(uint32_t process) const;
  // Called by the process whose turn it is, before and after its step.
  void begin(const Turn& turn);
  void end(const Turn& turn);

 private:
  struct Cache {
    uint64_t next = 0;                               // whose turn it is
    std::unordered_map<uint64_t, Process*> waiting;  // by number of the turn
  };
  using Turns = std::vector<std::vector<Turn>>;  // by process
  void put_in_order();
  void add(Turns& turns, const Turn& turn);
  void add_accesses_past_caches();

  const RecordedSteps& steps_;
  Turns turns_;
  std::vector<Cache> caches_;
  std::size_t files_ = 0;
  std::size_t first_row_ = 0;
};

}  // namespace forebay::sim
