#include "mpiio/file/arrivals.h"

#include <sched.h>

#include "mpiio/library/agreement.h"
#include "runtime/node/lock.h"

namespace forebay::mpiio {

int64_t arrive(Handle& handle, bool* last) {
  const int64_t count = handle.shared.arrivals->fetch_add(1, std::memory_order_acq_rel) + 1;
  *last = count % handle.ranks == 0;
  return (count + handle.ranks - 1) / handle.ranks * handle.ranks;
}

void wait_for_ranks(Handle& handle) {
  if (handle.ranks == 1 || !handle.all_ranks_share_arena()) return;
  if (handle.shared.arrivals == nullptr) return wait_for_all(handle.own.comm);
  bool last = false;
  const int64_t all = arrive(handle, &last);
  // Ranks often come within microseconds of each other. A sleep takes fifty at least, so it is for
  // those that wait for milliseconds.
  constexpr int looks_at_once = 50;
  constexpr int looks_awake = 5000;
  runtime::Backoff backoff;
  for (int looks = 0; handle.shared.arrivals->load(std::memory_order_acquire) < all; ++looks) {
    if (looks < looks_at_once) continue;
    if (looks < looks_awake)
      sched_yield();
    else
      backoff.pause();
    // A rank that has yet to come may wait for a message of this one, which leaves only while this
    // one is inside the MPI library.
    int flag = 0;
    MPI_Status ignored;
    mpi().Iprobe(MPI_ANY_SOURCE, 0, handle.own.comm, &flag, &ignored);
  }
}

}  // namespace forebay::mpiio
