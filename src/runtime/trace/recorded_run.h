// A run whose caches were traced, to be replayed in simulated caches with its own or other options.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/trace/trace_reader.h"
#include "sim/recorded_steps.h"
#include "sim/replay.h"
#include "trace/table.h"

namespace forebay::runtime {

class RecordedRun {
 public:
  // Reads all accesses.
  explicit RecordedRun(std::shared_ptr<const TraceReader> reader);

  // Name and text of each option, as the first process recorded them; options that no longer exist
  // are left out.
  std::map<std::string, std::string> options() const;

  // What was done to the run's caches, to be done to others with these options (options.h), which
  // are shared as option scope says. Throws as replay(). They last as long as the run.
  sim::RecordedSteps steps(const std::map<std::string, std::string>& options) const;
  // The counts of caches with these options in a replay of the run. Throws std::invalid_argument if
  // an option is wrong, or the trace cannot be replayed.
  std::vector<sim::ReplayedCache> replay(const std::map<std::string, std::string>& options) const;

 private:
  std::shared_ptr<const TraceReader> reader_;
  trace::Table table_;
};

}  // namespace forebay::runtime
