// What a recorded run did to its caches, step by step. With the option `deterministic` each cache
// numbers its steps in the order in which they happened; then simulated caches that carry them out
// in this order count what the run's caches counted. In other runs the numbers give only a rough
// order, if there are any, and the trace lacks the steps that are not accesses.
//
// Where nodes own parts of a file, the program's access has no number. Its parts are steps of the
// owners' caches: of the process's own node, or of another, where that node's agent took them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "engine/access.h"
#include "extent/extent.h"
#include "trace/job.h"
#include "trace/routine.h"
#include "trace/table.h"

namespace forebay::sim {

enum class Sharing : uint8_t { node, process };  // of a cache: by a node's processes, or none

using trace::AtLeave;

struct RecordedStep {
  enum class Kind : uint8_t {
    other,  // no step
    read,
    write,
    join,
    leave,
    write_as,
    commit,
    drop_clean,
    truncate,
    resize,
    share,
    read_past,
    write_past,
    commit_range,
    drop_range,
  };
  Kind kind = Kind::other;
  uint32_t process = 0;
  int32_t open = -1;  // the process's handle
  int32_t file = -1;
  // Of join: the file's size; of leave: 1 to discard; of write_as: a writer's number; of commit: 1
  // for what was written through the handle only; of truncate and resize: a size; of share: 0 if
  // the handle fetches nothing ahead.
  int64_t argument = 0;
  bool reads = false;  // of join: the handle may read
  // What the handle has written is committed when it leaves.
  AtLeave at_leave = AtLeave::as_option;
  // An agent takes the step for the process: the cache is another node's.
  bool by_agent = false;
  // What the program did, in whole; else a part of it, or something else.
  bool whole = false;
  Access access;  // of reads and writes
  Extent range;   // of steps past the cache, and those of a range

  bool moves_bytes() const { return whole; }
  // In a cache: process, open, and whether its agent has it open for the process.
  using Handle = std::tuple<uint32_t, int32_t, bool>;
  Handle handle() const { return {process, open, by_agent}; }
};

// Carries out a step of a handle that has joined; `handle`: as a simulated cache has it.
template <typename Handle>
void carry_out(const RecordedStep& step, Handle& handle) {
  switch (step.kind) {
    case RecordedStep::Kind::read:
    case RecordedStep::Kind::write:
      handle.access(step.access);
      break;
    case RecordedStep::Kind::read_past:
    case RecordedStep::Kind::write_past:
      handle.access_past(step.access.writes, step.range);
      break;
    case RecordedStep::Kind::commit_range:
      handle.commit_range(step.range);
      break;
    case RecordedStep::Kind::drop_range:
      handle.drop_range(step.range);
      break;
    case RecordedStep::Kind::share:
      if (step.argument == 0) handle.end_read_ahead();
      break;
    case RecordedStep::Kind::leave:
      handle.close(step.argument != 0, step.at_leave);
      break;
    case RecordedStep::Kind::write_as:
      handle.write_as(static_cast<uint32_t>(step.argument));
      break;
    case RecordedStep::Kind::commit:
      handle.commit(step.argument != 0);
      break;
    case RecordedStep::Kind::drop_clean:
      handle.drop_clean();
      break;
    case RecordedStep::Kind::truncate:
      handle.truncate(step.argument);
      break;
    case RecordedStep::Kind::resize:
      handle.resize(step.argument);
      break;
    case RecordedStep::Kind::join:
    case RecordedStep::Kind::other:
      break;
  }
}

class RecordedSteps {
 public:
  // Of one cache.
  struct Cache {
    std::string name;                 // the node, or the process's trace file
    std::vector<uint32_t> processes;  // of the node that used it, ascending; at least one of them
    int64_t ranks = 1;                // of the job that share it
    std::vector<std::size_t> rows;    // of the table, in the order of the steps
  };

  // All of a job's accesses; `table` may hold them in any order. Both outlive this. `page_size`: no
  // step reaches bytes of a page that ends beyond 63 bits.
  RecordedSteps(const trace::Job& job, const trace::Table& table, Sharing sharing,
                int64_t page_size);

  // By name. With a problem they are not to be used.
  const std::vector<Cache>& caches() const { return caches_; }
  const std::string& problem() const { return problem_; }  // why there is no order; "": there is
  // The step in a row of the table.
  RecordedStep at(std::size_t row) const;
  const trace::Table& table() const { return table_; }

 private:
  std::string problem_of(const Cache& cache) const;
  bool is_possible(const RecordedStep& step, std::size_t row) const;
  bool is_step(std::size_t row) const;
  bool names_cache(std::size_t row) const;
  bool by_agent(std::size_t row) const;
  RecordedStep part_at(std::size_t row, RecordedStep step) const;

  const trace::Job& job_;
  const trace::Table& table_;
  int64_t most_bytes_;                     // of a file: its last page ends within 63 bits
  std::vector<RecordedStep::Kind> kinds_;  // of each routine
  std::vector<Cache> caches_;
  std::string problem_;
};

}  // namespace forebay::sim
