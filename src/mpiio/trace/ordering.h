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
#include "runtime/trace_log.h"

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

// clang-format off

// The collectives, and their nonblocking twins: name, twin, parameters, arguments, this rank's part.
// All but MPI_Barrier have large-count twins with "_c" appended (COUNT, DISPLACEMENT: MPI_Count,
// MPI_Aint).
#define FOREBAY_BARRIER(X) \
  X(Barrier, Ibarrier, (MPI_Comm comm), (comm), Part::exchanges)
#define FOREBAY_COLLECTIVES(X, COUNT, DISPLACEMENT) \
  X(Bcast, Ibcast, \
    (void* buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm), \
    (buffer, count, type, root, comm), \
    from_root(comm, root, [&] { return carries(count, type); })) \
  X(Gather, Igather, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, COUNT count, \
     MPI_Datatype type, int root, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, count, type, root, comm), \
    to_root(comm, root, [&] { return carries(count, type); })) \
  X(Gatherv, Igatherv, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, \
     const COUNT* counts, const DISPLACEMENT* places, MPI_Datatype type, int root, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, counts, places, type, root, comm), \
    to_root(comm, root, [&] { return all_carry(comm, counts, type); })) \
  X(Scatter, Iscatter, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, COUNT count, \
     MPI_Datatype type, int root, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, count, type, root, comm), \
    from_root(comm, root, [&] { return carries(count, type); })) \
  X(Scatterv, Iscatterv, \
    (const void* sent, const COUNT* sent_counts, const DISPLACEMENT* places, \
     MPI_Datatype sent_type, void* received, COUNT count, MPI_Datatype type, int root, \
     MPI_Comm comm), \
    (sent, sent_counts, places, sent_type, received, count, type, root, comm), \
    from_root(comm, root, [&] { return carries(count, type); })) \
  X(Allgather, Iallgather, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, COUNT count, \
     MPI_Datatype type, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, count, type, comm), \
    among_all(carries(count, type))) \
  X(Allgatherv, Iallgatherv, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, \
     const COUNT* counts, const DISPLACEMENT* places, MPI_Datatype type, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, counts, places, type, comm), \
    among_all(all_carry(comm, counts, type))) \
  X(Alltoall, Ialltoall, \
    (const void* sent, COUNT sent_count, MPI_Datatype sent_type, void* received, COUNT count, \
     MPI_Datatype type, MPI_Comm comm), \
    (sent, sent_count, sent_type, received, count, type, comm), \
    among_all(carries(count, type))) \
  X(Alltoallv, Ialltoallv, \
    (const void* sent, const COUNT* sent_counts, const DISPLACEMENT* sent_places, \
     MPI_Datatype sent_type, void* received, const COUNT* counts, const DISPLACEMENT* places, \
     MPI_Datatype type, MPI_Comm comm), \
    (sent, sent_counts, sent_places, sent_type, received, counts, places, type, comm), \
    among_all(all_carry(comm, counts, type))) \
  X(Alltoallw, Ialltoallw, \
    (const void* sent, const COUNT* sent_counts, const DISPLACEMENT* sent_places, \
     const MPI_Datatype* sent_types, void* received, const COUNT* counts, \
     const DISPLACEMENT* places, const MPI_Datatype* types, MPI_Comm comm), \
    (sent, sent_counts, sent_places, sent_types, received, counts, places, types, comm), \
    among_all(all_carry(comm, counts, types))) \
  X(Reduce, Ireduce, \
    (const void* sent, void* received, COUNT count, MPI_Datatype type, MPI_Op op, int root, \
     MPI_Comm comm), \
    (sent, received, count, type, op, root, comm), \
    to_root(comm, root, [&] { return carries(count, type); })) \
  X(Allreduce, Iallreduce, \
    (const void* sent, void* received, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
    (sent, received, count, type, op, comm), \
    among_all(carries(count, type))) \
  X(Reduce_scatter, Ireduce_scatter, \
    (const void* sent, void* received, const COUNT* counts, MPI_Datatype type, MPI_Op op, \
     MPI_Comm comm), \
    (sent, received, counts, type, op, comm), \
    among_all(carries(counts[rank_in(comm)], type))) \
  X(Reduce_scatter_block, Ireduce_scatter_block, \
    (const void* sent, void* received, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
    (sent, received, count, type, op, comm), \
    among_all(carries(count, type)))

// The routines that make a communicator of another's ranks, called by all of these: name,
// parameters, arguments. MPI_Comm_idup's may not be asked before its request is complete, and all
// ranks need not call MPI_Comm_create_group; theirs have no number.
#define FOREBAY_COMM_MAKERS(X) \
  X(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made)) \
  X(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made), (comm, info, made)) \
  X(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made)) \
  X(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made)) \
  X(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm* made), \
    (comm, kind, key, info, made)) \
  X(Cart_create, \
    (MPI_Comm comm, int dimensions, const int* sizes, const int* periods, int reorder, \
     MPI_Comm* made), \
    (comm, dimensions, sizes, periods, reorder, made)) \
  X(Cart_sub, (MPI_Comm comm, const int* remain, MPI_Comm* made), (comm, remain, made)) \
  X(Graph_create, \
    (MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder, MPI_Comm* made), \
    (comm, nodes, index, edges, reorder, made)) \
  X(Dist_graph_create, \
    (MPI_Comm comm, int nodes, const int* sources, const int* degrees, const int* targets, \
     const int* weights, MPI_Info info, int reorder, MPI_Comm* made), \
    (comm, nodes, sources, degrees, targets, weights, info, reorder, made)) \
  X(Dist_graph_create_adjacent, \
    (MPI_Comm comm, int in_degree, const int* sources, const int* source_weights, int out_degree, \
     const int* targets, const int* target_weights, MPI_Info info, int reorder, MPI_Comm* made), \
    (comm, in_degree, sources, source_weights, out_degree, targets, target_weights, info, \
     reorder, made))

// clang-format on
