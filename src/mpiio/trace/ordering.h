// Records how a traced program orders its ranks, for the analysis (trace/order.h): the collectives
// in which a rank cannot have its result before others have entered. By the standard these are
// MPI_Barrier and collectives whose result needs the others' data (MPI 4.1, section 6.14: no other
// collective is certain to synchronise). Collective calls of MPI-IO are not among them:
// MPI_File_open, _close, _sync and the rest may return before another rank has entered (section
// 14.6.1).
//
// The records of a collective on different ranks have the same key, which each rank computes by
// itself. It is made of the communicator's identity, which follows from that of its parent and the
// number of communicators made of the parent before, and of the number of collectives called on it.
// Communicators that were made otherwise are left out, and so are intercommunicators.
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

// Whether any bytes are moved: without any, no rank waits.
bool carries(int64_t count, MPI_Datatype type);

// Whether every rank of the communicator gives some bytes.
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

// A rank's part, by whether it receives bytes. received() is called only on ranks on which its
// arguments are significant.
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

// A collective called on a communicator. comm == 0: it is not known which one.
struct Meeting {
  uint64_t key = 0;   // the same on all ranks
  uint32_t comm = 0;  // number of the communicator in this process; 0: none
};

// The next collective on the communicator.
Meeting next_meeting(MPI_Comm comm);
// A call on the communicator has failed: from now on the ranks' counts may differ.
void lose_count(MPI_Comm comm, int code);
void record_part(const Meeting& meeting, Part part, int64_t start_ticks);
// The same for a nonblocking collective: it acquires when its request is complete.
void record_part(const Meeting& meeting, Part part, int64_t start_ticks, MPI_Request request);

// Notes that `child` (perhaps MPI_COMM_NULL) was made of `parent`.
void descend(MPI_Comm parent, MPI_Comm child);

// What MPI_<Routine> does for a traced program: a collective, and a routine that makes a
// communicator. part() is called after library_call().
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
