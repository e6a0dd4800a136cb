// Data access by the MPI library for Forebay's handles: in pass-through mode, for shared pointers
// of ranks on several nodes, and for arguments that the standard does not allow. The cache is made
// coherent before and after. Forebay keeps the positions, except for the shared pointer that the
// library keeps.
#pragma once

#include "mpiio/access/access.h"

namespace forebay::mpiio {

// The access at `position` (data bytes of the view) in pass-through mode.
Transfer library_access(Handle& handle, const Call& call, int64_t position);

// An access at the shared pointer if the library keeps it: the ranks share no memory.
Transfer library_shared_access(Handle& handle, const Call& call);

// Passes invalid arguments to the library, which returns its error. Only routines that do not wait
// for other ranks are called.
Transfer refuse(Handle& handle, const Call& call);

}  // namespace forebay::mpiio
