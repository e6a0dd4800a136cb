// The data accesses of a job's trace, made into an AccessLog batch by batch.
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
  std::span<const int64_t> position, requested, start_ns;
};

class JobLog {
 public:
  // At most so many processes and opens.
  static constexpr uint32_t most_numbers = 1 << 30;

  // Expects `accesses`, and has room for `most_bytes` of them.
  JobLog(const trace::Views& views, std::span<const trace::Open> opens, uint64_t accesses,
         uint64_t most_bytes);

  // Takes in the reads and writes. False: there is no room for so many. Throws std::out_of_range
  // where an access names a process or an open that there cannot be.
  bool add(const JobColumns& columns);

  AccessLog& log() { return log_; }
  uint64_t unplaced() const { return unplaced_; }  // left out: no place or no time is known

 private:
  bool has_open(int32_t open) const { return static_cast<std::size_t>(open) < groups_.size(); }
  uint32_t handle(const DataAccess& access, int32_t open);

  AccessLog log_;
  std::vector<uint32_t> groups_;                               // of the opens
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> handles_;  // by process and file, without open
  uint64_t unplaced_ = 0;
};

}  // namespace forebay::sim
