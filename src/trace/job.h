// Combines the traces of a job's processes: numbers their opens, files, views and routines
// throughout the job, brings their times to one clock, and finds the place of each access in its
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/outline.h"
#include "trace/routine.h"
#include "trace/table.h"

namespace forebay::trace {

// One process, as its trace file describes it. A missing or invalid number is -1, a missing time 0.
struct Process {
  std::string source;  // path of the trace file
  std::string host;
  int64_t rank = -1, ranks = -1, pid = -1;
  int64_t clock_offset_ns = 0;     // to add to its node's clock for the clock of rank 0's node
  std::optional<int64_t> zero_ns;  // the process's time zero, by the clock of rank 0's node
  // The growth of the offset until the clocks were compared a second time, and that moment, counted
  // from the time zero.
  int64_t clock_drift_ns = 0;
  int64_t compared_ns = 0;
  int64_t zero_realtime_ns = 0;
  std::string options;      // Forebay's options, a line name=value each
  int64_t local_ranks = 1;  // ranks of the job on its node
  uint64_t accesses = 0;    // accesses in the trace file
  uint64_t folded = 0;      // those with folded times
  uint64_t lost = 0;        // accesses that were not recorded, as the end block says
  uint64_t damaged = 0;  // accesses that were recorded but cannot be read, as far as the file tells
  bool ended = false;    // the trace file has an end block: the process ended in order
};

// One open of a file by one process.
struct Open {
  uint32_t process = 0;
  uint32_t number = 0;  // number within its process
  uint32_t file = 0;    // index into the job's files
  uint32_t ranks = 0;   // number of ranks that opened the file together
  int64_t amode = 0;
  bool cached = false;
};

// A view of one process. The job's first view is "all bytes" of every process.
struct JobView {
  uint32_t process = 0;
  Tiling tiling;
};

struct Routine {
  std::string name;
  RoutineKind kind;
};

class Job {
 public:
  Job();

  // Adds a process from its outline; the blocks of the outline are not read. Returns the number of
  // the process.
  uint32_t add(std::string source, const Outline& outline);
  // Appends the accesses of one block of a process to the table.
  void append(uint32_t process, const AccessBlock& block, const Accesses& accesses,
              Table& table) const;

  const std::vector<Process>& processes() const { return processes_; }
  const std::vector<std::string>& files() const { return files_; }  // paths, each one once
  const std::vector<Open>& opens() const { return opens_; }
  const std::vector<JobView>& views() const { return views_; }
  const std::vector<Routine>& routines() const { return routines_; }

 private:
  // Pairs of a process's number and the job's number, ascending by the former.
  using Numbers = std::vector<std::pair<uint32_t, int32_t>>;
  struct Numbering {
    Numbers opens, views;
    std::vector<Completion> completions;  // by number of their request
    std::vector<uint16_t> routines;
  };
  int32_t file_number(const std::string& path);
  uint16_t routine_number(const std::string& name);

  std::vector<Process> processes_;
  std::optional<int64_t> zero_ns_;  // the earliest time zero
  std::vector<Numbering> numberings_;
  std::vector<std::string> files_;
  std::map<std::string, int32_t> file_numbers_;
  std::vector<Open> opens_;
  std::vector<JobView> views_;
  std::vector<Routine> routines_;
  std::map<std::string, uint16_t> routine_numbers_;
};

// Where `bytes` data bytes from `position` on lie in the file: the offset of the first byte, one
// past the last byte, and whether they are one run. The offsets are -1 if there is no such place
// within 64 bits.
struct Place {
  int64_t offset = -1, end = -1;
  bool contiguous = true;
};
Place place_of(const Tiling& tiling, int64_t position, int64_t bytes);

}  // namespace forebay::trace
