// Where the ranks of a handle are on several nodes and the scope is the job: the order that every
// collective call on the file makes. What any rank wrote before it lies below what any rank writes
// after it, and is seen by what any rank reads after it, on all nodes. (The standard promises this
// only after a sync; PnetCDF relies on it.)
#pragma once

#include "mpiio/file/handle.h"
#include "mpiio/library/call.h"

namespace forebay::mpiio {

// Called by all ranks of the handle, without its lock, at the beginning of a collective call:
// guests go to their owners, every byte that the ranks wrote is in storage afterwards, and no node
// keeps bytes that others have replaced. Otherwise all ranks get a failure, and bytes stay dirty:
// the call is carried out nevertheless (a program that ignores the code of MPI_File_set_view must
// not write through the old view), and returns the failure. Where owners answer, there is nothing
// to hand over, and the ranks only wait for each other. Does nothing where nodes hand nothing over,
// or no rank has written since. `access`: the call's, if it is an access.
Status hand_over(Handle& handle, const Call* access = nullptr);

}  // namespace forebay::mpiio
