// The traces of a job's processes put together: their opens, files, views and routines numbered
// throughout, their times brought to one clock, and each access's place in its file.
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

// One process, as its trace file describes it. Numbers that are missing or none: -1; 0 for times.
struct Process {
  std::string source;  // the trace file
  std::string host;
  int64_t rank = -1, ranks = -1, pid = -1;
  int64_t clock_offset_ns = 0;     // from its node's clock to that of rank 0's node
  std::optional<int64_t> zero_ns;  // its time zero, by the clock of rank 0's node
  // What the offset has grown by when the clocks were compared again, and when, since time zero.
  int64_t clock_drift_ns = 0;
  int64_t compared_ns = 0;
  int64_t zero_realtime_ns = 0;
  std::string options;      // of Forebay, lines name=value
  int64_t local_ranks = 1;  // of the job on its node
  uint64_t accesses = 0;    // that the file holds
  uint64_t folded = 0;      // of these, how many have folded times
  uint64_t lost = 0;        // that were not recorded, as its end says
  uint64_t damaged = 0;     // that were recorded and cannot be read, as far as can be known
  bool ended = false;       // it left in order
};

// One open of a file by one process.
struct Open {
  uint32_t process = 0;
  uint32_t number = 0;  // in its process
  uint32_t file = 0;    // index into the job's files
  uint32_t ranks = 0;   // that opened it together
  int64_t amode = 0;
  bool cached = false;
};

// A view of one process; the first stands for all processes' "all bytes".
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

  // Takes a process's outline in, but for its blocks; the number of the process.
  uint32_t add(std::string source, const Outline& outline);
  // Appends the accesses of one block of a process to the table.
  void append(uint32_t process, const AccessBlock& block, const Accesses& accesses,
              Table& table) const;

  const std::vector<Process>& processes() const { return processes_; }
  const std::vector<std::string>& files() const { return files_; }  // paths, each once
  const std::vector<Open>& opens() const { return opens_; }
  const std::vector<JobView>& views() const { return views_; }
  const std::vector<Routine>& routines() const { return routines_; }

 private:
  // From a process's numbers to the job's, ascending.
  using Numbers = std::vector<std::pair<uint32_t, int32_t>>;
  struct Numbering {
    Numbers opens, views;
    std::vector<Completion> completions;  // by their requests' numbers
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

// Where `bytes` data bytes from `position` on lie: offsets of the first and behind the last, and
// whether they are one run. Offsets are -1 where there is no such place within 64 bits.
struct Place {
  int64_t offset = -1, end = -1;
  bool contiguous = true;
};
Place place_of(const Tiling& tiling, int64_t position, int64_t bytes);

}  // namespace forebay::trace
