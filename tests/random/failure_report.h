// Tells of the first difference: what was done, found and expected, and whose bytes those are. The
// schedule so far is logged, to be replayed, and the job ends.
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
  // `settings` outlive the report.
  FailureReport(int rank, const RunSettings& settings)
      : rank_(rank), settings_(settings), schedule_(settings.earlier) {}

  // The next operation of the schedule.
  void add(const Operation& operation) { schedule_.push_back(operation); }
  int last_number() const { return schedule_.empty() ? 0 : schedule_.back().number; }
  // The operation of this number is under way.
  void begin(int number) { current_ = number; }

  [[noreturn]] void fail(const Planned& planned, const std::string& what) const;
  // `found`: the `length` bytes of the file from the mismatch on.
  [[noreturn]] void fail_bytes(const Planned& planned, int file, const Mismatch& mismatch,
                               const std::byte* found, int64_t length) const;
  // What an earlier life left is not what it may be.
  [[noreturn]] void fail_aftermath(const std::string& what) const;
  // Says which operation was under way: for signal handlers. The job does not end by it.
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
