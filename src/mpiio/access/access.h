// Data access (MPI 4.1, section 14.4): every reading and writing routine, whatever its position,
// synchronism or coordination, comes down to transfer(). Collective routines are independent
// accesses to the cache that the ranks share, so none of them waits for another rank here (ordered
// ones agree on their positions first).
#pragma once

#include <cstdint>

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

struct Transfer {
  int code = MPI_SUCCESS;  // already raised
  int64_t bytes = 0;       // moved
};

// Carries out the call. Arguments that the standard does not allow are left to the MPI library, so
// that its own error comes back.
Transfer transfer(Handle& handle, const Call& call);

// For an ordered call that is to be carried out later: tells the other ranks how many bytes it
// moves, without waiting for them. False when the call is not valid (it then takes part with none).
bool begin_placing(Handle& handle, const Call& call);

// Sets the count of `status` (MPI_STATUS_IGNORE allowed) and returns the transfer's code.
inline int finish(const Transfer& transfer, MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) mpi().Status_set_elements_x(status, mpi().byte, transfer.bytes);
  return transfer.code;
}

}  // namespace forebay::mpiio
