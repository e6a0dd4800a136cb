// Why a file, or some calls on it, go to the MPI library and not to the cache. The statistics tell
// the reasons; if no file of a job was cached, a line tells one.
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

// In the order of `uncached_reasons`. If ranks have different reasons, the last in this order is
// told.
enum class Uncached : uint8_t {
  no,  // cached
  // Reasons for a file, from its open on.
  not_opened,
  disabled,
  step_aside_always,
  sequential,
  other_rights,
  no_memory,
  options_differ,
  several_nodes,
  no_owners,
  several_worlds,
  several_jobs,
  no_path,
  refused,
  no_shared_memory,
  separate_memory,
  too_many_files,
  no_communicator,
  // Reasons for calls on files that are cached.
  foreign_view,
  atomic_mode,
  shared_pointer,
  end,
};

constexpr std::size_t uncached_count = static_cast<std::size_t>(Uncached::end);

struct UncachedReason {
  const char* name;      // its name in the JSON file
  const char* sentence;  // "out.dat was not cached: ..."
  bool known;            // the user knows: asked for it, or was told at the open
};

const UncachedReason& reason_of(Uncached why);

// Counts by reason.
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

// A handle of the program that has no Handle: the MPI library serves it alone.
struct UncachedHandle {
  std::string name;
  Uncached why = Uncached::no;
  std::atomic<int64_t> calls{0};
};

extern FileMap<UncachedHandle> uncached_handles;

// Counts a data access on a file without a Handle.
inline void count_uncached_call(MPI_File file) {
  if (UncachedHandle* known = uncached_handles.find(file))
    known->calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace forebay::mpiio
