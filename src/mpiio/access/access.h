// Data access (MPI 4.1, section 14.4): every routine that reads or writes, whatever its
// positioning, synchronism or coordination, calls transfer(). Collective routines are independent
// accesses to the cache that the ranks share, so they do not wait for other ranks (except that
// ordered ones first agree on their positions).
#pragma once

#include <cstdint>

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

struct Transfer {
  int code = MPI_SUCCESS;  // already raised
  int64_t bytes = 0;       // moved
};

// Carries out the call. Arguments that the standard does not allow go to the MPI library, which
// returns its own error.
Transfer transfer(Handle& handle, const Call& call);

// For an ordered call that is carried out later: tells the other ranks how many bytes it moves,
// without waiting for them. False: the call is not valid, and takes part with 0 bytes.
bool begin_placing(Handle& handle, const Call& call);

// Sets the count of `status` (MPI_STATUS_IGNORE allowed) and returns the transfer's code.
inline int finish(const Transfer& transfer, MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) mpi().Status_set_elements_x(status, mpi().byte, transfer.bytes);
  return transfer.code;
}

}  // namespace forebay::mpiio
