// Makes the ranks of a communicator agree on values. Which MPI collective a rank enters depends
// only on agreed values; a rank's own decisions are agreed on here first.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "extent/status.h"
#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

// Whether some node has more ranks than processors; the same on all ranks. MPICH's blocking
// collectives then cost milliseconds, for whoever waits keeps the processor from those that it
// waits for. In Open MPI they let others run, and nonblocking ones are slower.
extern std::atomic<bool> ranks_share_cores;
#if defined(FOREBAY_ABI_OPENMPI)
inline bool waits_politely() { return false; }
#else
inline bool waits_politely() { return ranks_share_cores.load(std::memory_order_relaxed); }
#endif
// Waits for what was begun nonblocking, and lets others run. Returns what MPI_Wait would.
int wait_politely(MPI_Request* request, MPI_Status* status);

// Whether the communicator has all ranks of MPI_COMM_WORLD, in its order; the same on all of its
// ranks. False where there is no MPI_COMM_WORLD: in sessions.
bool has_all_ranks(MPI_Comm comm);

// An int64_t, or a structure of int64_t only.
template <typename Values>
concept Agreeable = std::is_trivially_copyable_v<Values> &&
                    std::has_unique_object_representations_v<Values> &&
                    alignof(Values) == alignof(int64_t);

// The smallest, or largest, of all ranks' values, member by member. Waits for all ranks.
template <Agreeable Values>
Values agree_by(MPI_Op op, MPI_Comm comm, const Values& mine) {
  Values agreed = mine;
  constexpr int count = sizeof(Values) / sizeof(int64_t);
  if (!waits_politely()) {
    mpi().Allreduce(&mine, &agreed, count, mpi().int64, op, comm);
    return agreed;
  }
  MPI_Request request = mpi().request_null;
  MPI_Status ignored;
  mpi().Iallreduce(&mine, &agreed, count, mpi().int64, op, comm, &request);
  wait_politely(&request, &ignored);
  return agreed;
}
template <Agreeable Values>
Values agree_min(MPI_Comm comm, const Values& mine) {
  return agree_by(mpi().min, comm, mine);
}
template <Agreeable Values>
Values agree_max(MPI_Comm comm, const Values& mine) {
  return agree_by(mpi().max, comm, mine);
}

// A member for agree_max, after which same() tells whether all ranks have the same value.
struct Compared {
  // INT64_MIN: the rank has no value, and only those of others are compared.
  int64_t value = INT64_MIN;
  int64_t inverse = INT64_MIN;

  Compared() = default;
  explicit Compared(int64_t mine) : value(mine), inverse(~mine) {}
  bool same() const { return value == ~inverse; }
};

inline bool same_on_all_ranks(MPI_Comm comm, int64_t mine) {
  return agree_max(comm, Compared(mine)).same();
}

// A rank that looks for others in turn, not inside the MPI library, lets others run this often
// before it sleeps: two milliseconds, or some.
inline constexpr int yields_for_ranks = 5000;

// Called before a collective commits: the bytes that all ranks wrote before it are then in the
// cache, and are committed merged. A call that agrees on something before it commits waits there
// instead.
inline void wait_for_all(MPI_Comm comm) {
  if (!waits_politely()) {
    mpi().Barrier(comm);
    return;
  }
  MPI_Request request = mpi().request_null;
  MPI_Status ignored;
  mpi().Ibarrier(comm, &request);
  wait_politely(&request, &ignored);
}

// Whether `mine` is true on any rank; the same answer on all ranks.
inline bool any_rank(MPI_Comm comm, bool mine) { return agree_max(comm, int64_t{mine}) != 0; }

// Success if it is success on all ranks; otherwise this rank's failure or, if it has none, that of
// another rank. So the ranks agree on whether there was a failure.
inline Status agree_status(MPI_Comm comm, const Status& mine) {
  const int64_t worst = agree_max(comm, static_cast<int64_t>(mine.code));
  return mine.ok() ? Status{static_cast<Code>(worst), 0, -1} : mine;
}

}  // namespace forebay::mpiio
