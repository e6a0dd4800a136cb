#include "mpiio/file/arrivals.h"

#include "mpiio/library/agreement.h"
#include "runtime/node/lock.h"

namespace forebay::mpiio {

int64_t arrive(Handle& handle) {
  return handle.shared.arrivals->fetch_add(1, std::memory_order_acq_rel) + 1;
}

void wait_for_ranks(Handle& handle) {
  if (handle.ranks == 1 || !handle.all_ranks_share_arena()) return;
  if (handle.shared.arrivals == nullptr) return wait_for_all(handle.own.comm);
  const int64_t all = (arrive(handle) + handle.ranks - 1) / handle.ranks * handle.ranks;
  runtime::Backoff backoff(yields_for_ranks);
  while (handle.shared.arrivals->load(std::memory_order_acquire) < all) {
    backoff.pause();
    // A rank that has yet to come may wait for a message of this one, which leaves only while this
    // one is inside the MPI library.
    int flag = 0;
    MPI_Status ignored;
    mpi().Iprobe(MPI_ANY_SOURCE, 0, handle.own.comm, &flag, &ignored);
  }
}

}  // namespace forebay::mpiio
