// With scope=job and consistency=posix: a file that ranks of several nodes open has an owner node
// for every byte (agent/job_file.h). Its owners are those of the ranks that first opened it from
// several nodes; all other handles, on any of these nodes, use them, too.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// Gives the handle its job_file. Called by all ranks, of several nodes, that open the file
// together, when each has it in its cache. False, on all of them: nodes have no agents or cannot
// reach each other's, the nodes do not see one file, or two groups of nodes have it open with
// owners apart.
bool join_owners(Handle& handle, int64_t end_of_file);

// Called with the handle's lock before it uses the file, and after it has written: gives a handle
// of one node's ranks its job_file once the file has owners, and hands them what this node's cache
// holds. A failure: they cannot be reached.
Status meet_owners(Handle& handle);

}  // namespace forebay::mpiio
