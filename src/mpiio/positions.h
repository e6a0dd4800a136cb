// File pointers (MPI 4.1, sections 14.4.3 and 14.4.4): the individual one of every rank and the one
// that the ranks of a handle share. Both count data bytes of the view.
#pragma once

#include "mpiio/handle.h"

namespace forebay::mpiio {

int seek(Handle& handle, MPI_Offset offset, int whence);
int get_position(Handle& handle, MPI_Offset* offset);
int get_byte_offset(Handle& handle, MPI_Offset offset, MPI_Offset* displacement);
int seek_shared(Handle& handle, MPI_Offset offset, int whence);
int get_position_shared(Handle& handle, MPI_Offset* offset);

// Takes `bytes` from the shared pointer: returns where they begin.
int64_t advance_shared(Handle& handle, int64_t bytes);
// The same for all ranks in rank order. Waits for all ranks of the handle.
int64_t advance_ordered(Handle& handle, int64_t bytes);

}  // namespace forebay::mpiio
