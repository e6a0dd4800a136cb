// Split collectives (MPI 4.1, section 14.4.5): the begin carries out the access, and the end
// returns its status. Only an ordered access may be left to the end.
#pragma once

#include "mpiio/access/access.h"

namespace forebay::mpiio {

int begin_split(Handle& handle, const Call& call);
int end_split(Handle& handle, Operation operation, Positioning positioning, MPI_Status* status);

}  // namespace forebay::mpiio
