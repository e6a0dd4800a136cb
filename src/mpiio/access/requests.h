// Nonblocking routines (MPI 4.1, section 14.4.1): the access is performed at once and the user gets
// a completed generalized request, so that all ways to wait and test work unchanged.
#pragma once

#include "mpiio/access/access.h"

namespace forebay::mpiio {

// Performs `call` and makes `request` its completed request. Errors of the access are reported when
// the request is waited for; the code returned tells whether there is a request.
int start_request(Handle& handle, const Call& call, MPI_Request* request);

}  // namespace forebay::mpiio
