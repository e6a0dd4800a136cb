// Split collectives (MPI 4.1, section 14.4.5): begin performs the access, end returns its status.
#pragma once

#include "mpiio/access/access.h"

namespace forebay::mpiio {

int begin_split(Handle& handle, const Call& call);
int end_split(Handle& handle, Operation operation, Positioning positioning, MPI_Status* status);

}  // namespace forebay::mpiio
