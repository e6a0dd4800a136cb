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

int wait_politely(MPI_Request* request, MPI_Status* status) {
  runtime::Backoff backoff(yields_for_ranks);
  int done = 0;
  for (;;) {
    const int code = mpi().Test(request, &done, status);
    if (code != MPI_SUCCESS || done != 0) return code;
    backoff.pause();
  }
}

}  // namespace forebay::mpiio
