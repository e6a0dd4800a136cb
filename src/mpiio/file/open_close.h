// Opening, closing and deleting files (MPI 4.1, section 14.2). The MPI library always opens the
// file, with the user's arguments; then the ranks agree whether it is cached.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

int open_file(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* file);
int close_file(MPI_File* file);

// Leaves the cache with everything committed, or dropped (`discard`). With the handle's lock.
Status leave_cache(Handle& handle, bool discard);

}  // namespace forebay::mpiio
