// The job's directory (agent/directory.h), which the agent on the node of the job's first rank
// keeps: how ranks find it, and what they call files there.
#pragma once

#include <memory>
#include <optional>

#include "agent/address.h"
#include "agent/directory.h"
#include "agent/line.h"
#include "mpiio/library/mpi_library.h"
#include "runtime/cache/cached_file.h"

namespace forebay::mpiio {

// Where this node's agent listens, which is started if need be; port 0: there is none.
agent::Address own_agent();
// Tells this node's agent from others.
agent::Key own_key();

// Called by every rank when MPI has begun. If `forebay run` knows that all of them run with
// Forebay, they learn whether they share cores (library/agreement.h), and where the directory is.
// Otherwise some would not come to this call.
void find_directory_early();
// Called by all ranks of MPI_COMM_WORLD, of which `everybody` is a duplicate. If they are on
// several nodes, and their options want a directory, they learn where it is. The same answer on all
// of them: whether there is one.
bool find_directory(MPI_Comm everybody);
// Whether this rank has not looked for it yet.
bool directory_unsought();

// Whether this rank knows of the directory. Others may learn of it earlier or later, where threads
// open files at once.
bool job_has_directory();
// Null: there is none, or this process cannot reach it.
std::shared_ptr<agent::Line> line_to_directory();
// Called when the directory did not answer: it is not asked again, and the user is told.
void lose_directory();

// Empty: other nodes may have another file by this name.
std::optional<agent::FileKey> key_of(const runtime::CachedFile& file);

}  // namespace forebay::mpiio
