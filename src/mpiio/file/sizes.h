// File sizes (MPI 4.1, sections 14.2.4 to 14.2.6) and sync (14.6.2): which cached bytes are
// committed or dropped before and after the MPI library acts on the file.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// The size a reader would see. Called with the handle's lock.
Status size_of(Handle& handle, int64_t* bytes);
int get_size(Handle& handle, MPI_Offset* bytes);
int set_size(Handle& handle, MPI_Offset bytes);
int preallocate(Handle& handle, MPI_Offset bytes);
int sync(Handle& handle);

}  // namespace forebay::mpiio
