// File pointers (MPI 4.1, sections 14.4.3 and 14.4.4): each rank's individual pointer, and the
// pointer that the ranks of a handle share. Both count data bytes of the view.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

int seek(Handle& handle, MPI_Offset offset, int whence);
int get_position(Handle& handle, MPI_Offset* offset);
int get_byte_offset(Handle& handle, MPI_Offset offset, MPI_Offset* displacement);
int seek_shared(Handle& handle, MPI_Offset offset, int whence);
int get_position_shared(Handle& handle, MPI_Offset* offset);

// Moves the shared pointer, which Forebay keeps, on by `bytes`; *before: where it was. A failure:
// the agent that has it does not answer.
Status advance_shared(Handle& handle, int64_t bytes, int64_t* before);

// The same for all ranks, in rank order. begin_ordered() tells the others this rank's bytes and
// does not wait. Once all ranks have begun, finish_ordered() tells this rank's position, and the
// shared pointer lies behind the bytes of all ranks.
void begin_ordered(Handle& handle, int64_t bytes);
Status finish_ordered(Handle& handle, int64_t* position);  // waits
bool ordered_is_known(Handle& handle);                     // does not wait

}  // namespace forebay::mpiio
