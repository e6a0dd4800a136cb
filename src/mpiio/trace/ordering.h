// What a traced program orders its ranks by, recorded for the analysis (trace/order.h): collectives
// in which a rank cannot have its result before others have come. By the standard those are
// MPI_Barrier, and those whose result needs the others' data (MPI 4.1, section 6.14: no other
// synchronises for certain). Collective calls of MPI-IO are none of them: MPI_File_open, _close,
// _sync and the rest may return before another rank has come (section 14.6.1).
//
// Ranks find their parts in the same collective by a number that each makes by itself: of the
// communicator, which follows from its parent's and from how many were made of that before, and of
// the collectives that were called on it. Communicators of other descent are left out, as are
// intercommunicators.
#pragma once

#include <cstdint>

#include "mpiio/library/mpi_library.h"
#include "runtime/trace/trace_log.h"

namespace forebay::mpiio {

// What this rank does in a collective.
enum class Part : uint8_t {
  none,
  releases,   // others wait for it
  acquires,   // it waits for others
  exchanges,  // both
};

// Gives MPI_COMM_WORLD its number. Called by all of its ranks.
void begin_ordering();

// Whether elements are moved: without any nobody waits.
bool carries(int64_t count, MPI_Datatype type);

// Whether each rank of the communicator gives some.
template <typename Count>
bool all_carry(MPI_Comm comm, const Count* counts, MPI_Datatype type) {
  int ranks = 0;
  mpi().Comm_size(comm, &ranks);
  for (int i = 0; i < ranks; ++i) {
    if (counts[i] <= 0) return false;
  }
  return carries(1, type);
}
template <typename Count>
bool all_carry(MPI_Comm comm, const Count* counts, const MPI_Datatype* types) {
  int ranks = 0;
  mpi().Comm_size(comm, &ranks);
  for (int i = 0; i < ranks; ++i) {
    if (!carries(counts[i], types[i])) return false;
  }
  return true;
}

inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  mpi().Comm_rank(comm, &rank);
  return rank;
}

// Parts by what a rank receives; `received` is asked where its arguments count.
inline Part among_all(bool received) { return received ? Part::exchanges : Part::releases; }
template <typename Received>
Part from_root(MPI_Comm comm, int root, Received received) {
  if (rank_in(comm) == root) return Part::releases;
  return received() ? Part::acquires : Part::none;
}
template <typename Received>
Part to_root(MPI_Comm comm, int root, Received received) {
  if (rank_in(comm) != root) return Part::releases;
  return received() ? Part::acquires : Part::none;
}

// One of the collectives called on a communicator; none: where it is not known which.
struct Meeting {
  uint64_t key = 0;   // the same on all ranks
  uint32_t comm = 0;  // number of the communicator in this process; 0: none
};

// The next collective on the communicator.
Meeting next_meeting(MPI_Comm comm);
// A call failed, so that ranks may no longer count alike.
void lose_count(MPI_Comm comm, int code);
void record_part(const Meeting& meeting, Part part, int64_t start_ticks);
// The part of a nonblocking collective: what it acquires it has when the request is complete.
void record_part(const Meeting& meeting, Part part, int64_t start_ticks, MPI_Request request);

// A communicator was made of `parent`; `child` may be MPI_COMM_NULL.
void descend(MPI_Comm parent, MPI_Comm child);

// What MPI_<Routine> does for a traced program; `part()` is asked for after `library_call()`.
template <typename LibraryCall, typename PartOf, typename... Request>
int ordering_call(MPI_Comm comm, LibraryCall library_call, PartOf part, const Request*... request) {
  const int64_t start_ticks = runtime::trace_ticks();
  const int code = library_call();
  if (code != MPI_SUCCESS) {
    lose_count(comm, code);
    return code;
  }
  const Meeting meeting = next_meeting(comm);
  if (meeting.comm != 0) record_part(meeting, part(), start_ticks, *request...);
  return code;
}
template <typename LibraryCall>
int descending_call(MPI_Comm parent, const MPI_Comm* child, LibraryCall library_call) {
  const int code = library_call();
  if (code == MPI_SUCCESS)
    descend(parent, *child);
  else
    lose_count(parent, code);
  return code;
}

}  // namespace forebay::mpiio
