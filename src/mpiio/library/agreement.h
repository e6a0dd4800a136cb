// Values that all ranks of a communicator agree on. Which MPI collective a rank enters depends only
// on such values; every decision of one rank alone goes through here first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "extent/status.h"
#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

// The largest of all ranks' values, one by one. Waits for all ranks.
template <std::size_t n>
std::array<int64_t, n> agree_max(MPI_Comm comm, std::array<int64_t, n> mine) {
  std::array<int64_t, n> largest = mine;
  mpi().Allreduce(mine.data(), largest.data(), static_cast<int>(n), mpi().int64, mpi().max, comm);
  return largest;
}

inline int64_t agree_max(MPI_Comm comm, int64_t mine) {
  return agree_max(comm, std::array<int64_t, 1>{mine})[0];
}

// Before a collective call commits: what all ranks wrote before it is then in the cache, and leaves
// merged. Calls that agree on something first wait there.
inline void wait_for_all(MPI_Comm comm) { mpi().Barrier(comm); }

// True on all ranks if it is on any.
inline bool any_rank(MPI_Comm comm, bool mine) { return agree_max(comm, mine ? 1 : 0) != 0; }

// For use in agree_max: values are the same everywhere exactly if max(v) and max(~v) say so.
inline bool same_everywhere(int64_t largest, int64_t largest_of_inverse) {
  return largest == ~largest_of_inverse;
}

// This rank's failure, or else that of another rank, or else success: the ranks agree on whether
// there was one.
inline Status agree_status(MPI_Comm comm, const Status& mine) {
  const int64_t worst = agree_max(comm, static_cast<int64_t>(mine.code));
  return mine.ok() ? Status{static_cast<Code>(worst), 0, -1} : mine;
}

}  // namespace forebay::mpiio
