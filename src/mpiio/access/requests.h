// Nonblocking routines (MPI 4.1, section 14.4.1): the access is performed at once and the user gets
// a completed generalized request, so that all ways to wait and test work unchanged.
#pragma once

#include "mpiio/access/access.h"

namespace forebay::mpiio {

// Carries out `call` and makes `request` its completed request. If the access fails, the file's
// error handler is called at once, the error code is returned, and `request` is MPI_REQUEST_NULL.
int start_request(Handle& handle, const Call& call, MPI_Request* request);

}  // namespace forebay::mpiio
