// Why a file, or some calls on it, are the MPI library's and not the cache's: the statistics tell
// it, and one line where nothing of a job was cached.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mpiio/file/file_map.h"
#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

// In the order of `uncached_reasons`. Where ranks have different reasons the last one is told.
enum class Uncached : uint8_t {
  no,  // cached
  // Files, from the open on.
  not_opened,
  disabled,
  step_aside_always,
  sequential,
  other_rights,
  no_memory,
  options_differ,
  several_nodes,
  several_worlds,
  several_jobs,
  no_path,
  refused,
  no_shared_memory,
  separate_memory,
  too_many_files,
  no_communicator,
  // Calls on files that are cached.
  foreign_view,
  atomic_mode,
  shared_pointer,
  end,
};

constexpr std::size_t uncached_count = static_cast<std::size_t>(Uncached::end);

struct UncachedReason {
  const char* name;      // in the JSON file
  const char* sentence;  // "out.dat was not cached: ..."
  bool known;            // to the user, who asked for it or has been told at once
};

const UncachedReason& reason_of(Uncached why);

// How often, by reason.
class UncachedCounts {
 public:
  void add(Uncached why, int64_t times = 1) {
    counts_[static_cast<std::size_t>(why)].fetch_add(times, std::memory_order_relaxed);
  }
  int64_t operator[](Uncached why) const {
    return counts_[static_cast<std::size_t>(why)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<int64_t>, uncached_count> counts_{};
};

// A file that the MPI library has to itself, as long as it is open.
struct UncachedFile {
  std::string name;
  Uncached why = Uncached::no;
  std::atomic<int64_t> calls{0};
};

extern FileMap<UncachedFile> uncached_files;

// A data access on a file without a handle of ours.
inline void count_uncached_call(MPI_File file) {
  if (UncachedFile* known = uncached_files.find(file))
    known->calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace forebay::mpiio
