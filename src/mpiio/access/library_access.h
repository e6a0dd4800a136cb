// Data access by the MPI library for handles that Forebay knows: in pass-through mode, for shared
// pointers of files on several nodes, and for arguments the standard does not allow. The cache is
// made coherent before and after; Forebay keeps the positions.
#pragma once

#include "mpiio/access/access.h"

namespace forebay::mpiio {

// The access at `position` (data bytes of the view) in pass-through mode.
Transfer library_access(Handle& handle, const Call& call, int64_t position);

// Shared-pointer access where the ranks share no word: the library keeps the pointer.
Transfer library_shared_access(Handle& handle, const Call& call);

// Hands arguments that make no valid access to the library, which answers with its error. Only
// routines that wait for no other rank are used.
Transfer refuse(Handle& handle, const Call& call);

}  // namespace forebay::mpiio
