#include "mpiio/library/agreement.h"

#include "runtime/node/lock.h"

namespace forebay::mpiio {

std::atomic<bool> ranks_share_cores{false};

// Nothing but the MPI library itself fails here, and then the job ends.
void wait_politely(MPI_Request request) {
  runtime::Backoff backoff(yields_for_ranks);
  int done = 0;
  MPI_Status ignored;
  while (mpi().Test(&request, &done, &ignored) == MPI_SUCCESS && done == 0) backoff.pause();
}

}  // namespace forebay::mpiio
