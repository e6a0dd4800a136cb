// File pointers (MPI 4.1, sections 14.4.3 and 14.4.4): the individual one of every rank and the one
// that the ranks of a handle share. Both count data bytes of the view.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

int seek(Handle& handle, MPI_Offset offset, int whence);
int get_position(Handle& handle, MPI_Offset* offset);
int get_byte_offset(Handle& handle, MPI_Offset offset, MPI_Offset* displacement);
int seek_shared(Handle& handle, MPI_Offset offset, int whence);
int get_position_shared(Handle& handle, MPI_Offset* offset);

// Takes `bytes` from the shared pointer: returns where they begin.
int64_t advance_shared(Handle& handle, int64_t bytes);

// The same for all ranks in rank order, each telling its bytes. Beginning waits for nobody; the
// position is known once all ranks have begun, and the shared pointer then lies behind all of them.
void begin_ordered(Handle& handle, int64_t bytes);
int64_t finish_ordered(Handle& handle);  // waits
bool ordered_is_known(Handle& handle);   // does not

}  // namespace forebay::mpiio
