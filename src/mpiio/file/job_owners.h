// With scope=job and consistency=posix: a file that ranks of several nodes open has an owner node
// for every byte (agent/job_file.h). Whoever opens it uses the same owners: opens on nodes that
// know of each other's, or that find each other in the job's directory (agent/directory.h).
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// Whether every byte of a file that ranks of several nodes open has an owner node.
bool has_owners(const Options& options);

// Called by rank 0 of a handle whose ranks are on one node, when it has the file in its cache:
// enters the open in the job's directory. If other nodes have the file open, it has owners then,
// which the ranks meet before they use it. A failure: they cannot be met.
Status enrol_alone(Handle& handle);

// Gives the handle its job_file. Called by all ranks, of several nodes, that open the file
// together, when each has it in its cache. False, on all of them: nodes have no agents or cannot
// reach each other's, the nodes do not see one file, or two groups of nodes have it open with
// owners apart.
bool join_owners(Handle& handle, int64_t end_of_file);

// With consistency=mpi: finds the owners to which this node gives its guests if it has no room for
// them (agent/guests.h). Called by all ranks, of several nodes, that open the file together.
// Without owners guests stay until a collective call.
void find_owners_of_guests(Handle& handle, int64_t end_of_file);

// Called with the handle's lock before it uses the file, and after it has written: gives a handle
// of one node's ranks its job_file once the file has owners, and hands them what this node's cache
// holds. A failure: they cannot be reached.
Status meet_owners(Handle& handle);

}  // namespace forebay::mpiio
