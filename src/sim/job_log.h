// Makes an AccessLog of the data accesses in a job's trace, batch by batch.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/access_log.h"
#include "trace/job.h"
#include "trace/views.h"

namespace forebay::sim {

// Columns of a table of accesses (trace/table.h), of one length.
struct JobColumns {
  std::span<const uint32_t> process;
  std::span<const int32_t> file, open;
  std::span<const uint16_t> routine;
  std::span<const uint8_t> operation;
  std::span<const int8_t> collective;
  std::span<const int64_t> offset, end;
  std::span<const uint8_t> contiguous;
  std::span<const int32_t> view;
  std::span<const int64_t> position, requested, start_ns, end_ns;
};

class JobLog {
 public:
  // Largest number of processes, and of opens.
  static constexpr uint32_t most_numbers = 1 << 30;

  // `accesses`: how many are expected. `most_bytes`: memory for accesses.
  JobLog(const trace::Views& views, std::span<const trace::Open> opens, uint64_t accesses,
         uint64_t most_bytes);

  // Adds the reads and writes. False: they need more memory than allowed. Throws std::out_of_range
  // if an access names a process or an open that cannot exist.
  bool add(const JobColumns& columns);

  AccessLog& log() { return log_; }
  // Accesses left out: their place or time is unknown.
  uint64_t unplaced() const { return unplaced_; }

 private:
  bool has_open(int32_t open) const { return static_cast<std::size_t>(open) < groups_.size(); }
  uint32_t handle(const DataAccess& access, int32_t open);

  AccessLog log_;
  std::vector<uint32_t> groups_;  // number of each open's group
  // By process and file, for accesses without open.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> handles_;
  uint64_t unplaced_ = 0;
};

}  // namespace forebay::sim
