// Reports the first difference: the operation, what was found and expected, and which writes these
// bytes belong to. Logs the schedule so far, to be replayed, and ends the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner.h"
#include "run_settings.h"

namespace random_io {

class FailureReport {
 public:
  // `settings` must outlive the report.
  FailureReport(int rank, const RunSettings& settings)
      : rank_(rank), settings_(settings), schedule_(settings.earlier) {}

  // Adds the next operation of the schedule.
  void add(const Operation& operation) { schedule_.push_back(operation); }
  int last_number() const { return schedule_.empty() ? 0 : schedule_.back().number; }
  // The operation with this number begins.
  void begin(int number) { current_ = number; }

  [[noreturn]] void fail(const Planned& planned, const std::string& what) const;
  // `found`: the `length` bytes of the file from the mismatch on.
  [[noreturn]] void fail_bytes(const Planned& planned, int file, const Mismatch& mismatch,
                               const std::byte* found, int64_t length) const;
  // What an earlier life left in the files is wrong.
  [[noreturn]] void fail_aftermath(const std::string& what) const;
  // Says which operation was in progress; for signal handlers. Does not end the job.
  void interruption(const char* why) const;

 private:
  void write_log() const;
  std::string find_writer(const std::byte* found, int64_t length) const;

  int rank_;
  const RunSettings& settings_;
  std::vector<Operation> schedule_;
  int current_ = 0;
};

}  // namespace random_io
