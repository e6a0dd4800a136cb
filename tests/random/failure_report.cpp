#include "failure_report.h"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "aftermath.h"
#include "buffer.h"

namespace random_io {
namespace {

[[noreturn]] void end_job() {
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

}  // namespace

void FailureReport::fail(const Planned& planned, const std::string& what) const {
  write_log();
  std::fprintf(stderr, "random_io: FAILED on rank %d in operation %s\n  %s\n  %s\n  log: %s\n",
               rank_, format_operation(planned.operation).c_str(), what.c_str(),
               settings_.heading.c_str(), settings_.log.c_str());
  end_job();
}

void FailureReport::fail_bytes(const Planned& planned, int file, const Mismatch& mismatch,
                               const std::byte* found, int64_t length) const {
  std::string text =
      file_path(settings_.directory, file, 0) + " offset " + std::to_string(mismatch.offset) +
      " (the transfer's byte " + std::to_string(mismatch.position) + "): found " +
      std::to_string(mismatch.found) + ", " + find_writer(found, length) + "\n  expected";
  for (const Value& value : mismatch.allowed) {
    text += " " + std::to_string(value.value) + " from " + describe_writer(value.id) + ",";
  }
  text.pop_back();
  fail(planned, text);
}

void FailureReport::fail_aftermath(const std::string& what) const {
  write_log();
  std::fprintf(stderr, "random_io: FAILED: what an earlier life left\n  %s\n  %s\n  log: %s\n",
               what.c_str(), settings_.heading.c_str(), settings_.log.c_str());
  end_job();
}

void FailureReport::interruption(const char* why) const {
  // Ranks that wait for a killed rank must end, too.
  if (settings_.history != nullptr && settings_.history->anybody_doomed()) _exit(3);
  write_log();
  std::fprintf(stderr, "random_io: FAILED on rank %d: %s in operation %d\n  %s\n  log: %s\n", rank_,
               why, current_, settings_.heading.c_str(), settings_.log.c_str());
  std::fflush(stderr);
}

void FailureReport::write_log() const {
  std::FILE* log = std::fopen(settings_.log.c_str(), "w");
  if (log == nullptr) return;
  std::fprintf(log, "# %s\n", settings_.heading.c_str());
  if (settings_.history != nullptr) {
    std::ifstream lives(settings_.history->schedule_path());
    for (std::string line; std::getline(lives, line);) std::fprintf(log, "%s\n", line.c_str());
  }
  for (std::size_t i = settings_.earlier.size(); i < schedule_.size(); ++i) {
    std::fprintf(log, "%s\n", format_operation(schedule_[i]).c_str());
  }
  std::fclose(log);
}

std::string FailureReport::find_writer(const std::byte* found, int64_t length) const {
  const int64_t probe = std::min<int64_t>(length, 12);
  if (std::all_of(found, found + probe, [](std::byte b) { return b == std::byte{0}; })) {
    return "zeros";
  }
  if (std::all_of(found, found + probe, [](std::byte b) { return b == Buffer::kGuard; })) {
    return "the buffer's own filling, so nothing was read there";
  }
  if (probe < 3) return "too few bytes to tell the writer";
  std::string writers;
  for (const Operation& operation : schedule_) {
    const Routine* routine = find_routine(operation.name);
    const auto search = [&](uint32_t id, int64_t bytes) {
      std::vector<std::byte> stream(static_cast<std::size_t>(bytes));
      fill_values(id, 0, bytes, stream.data());
      const auto hit = std::search(stream.begin(), stream.end(), found, found + probe);
      if (hit == stream.end()) return;
      writers += (writers.empty() ? "" : "; ") + describe_writer(id) + ", its byte " +
                 std::to_string(hit - stream.begin());
    };
    const uint32_t first = operation_id(operation.number, 0);
    if (operation.name == "external") search(first, operation.length);
    if (routine == nullptr || !routine->write) continue;
    for (const Part& part : operation.parts) {
      if (part.memory)
        search(first + static_cast<uint32_t>(part.rank), part.count * part.memory->size);
    }
  }
  return writers.empty() ? "bytes nobody wrote" : writers;
}

}  // namespace random_io
