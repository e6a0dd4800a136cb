#include "mpiio/library/agreement.h"

#include "runtime/node/lock.h"

namespace forebay::mpiio {

std::atomic<bool> ranks_share_cores{false};

bool has_all_ranks(MPI_Comm comm) {
  int initialized = 0, result = MPI_UNEQUAL;
  mpi().Initialized(&initialized);
  if (initialized) mpi().Comm_compare(comm, mpi().comm_world, &result);
  return result == MPI_IDENT || result == MPI_CONGRUENT;
}

// Nothing but the MPI library itself fails here, and then the job ends.
void wait_politely(MPI_Request request) {
  runtime::Backoff backoff(yields_for_ranks);
  int done = 0;
  MPI_Status ignored;
  while (mpi().Test(&request, &done, &ignored) == MPI_SUCCESS && done == 0) backoff.pause();
}

}  // namespace forebay::mpiio
