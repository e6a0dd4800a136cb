// Commits files that a program leaves open when MPI or the process ends: without Forebay their
// bytes would be in the files. Nothing here waits for another rank, but for MPI_Finalize.
#pragma once

namespace forebay::mpiio {

// For MPI_Finalize, MPI_Abort and the end of the process: commits and forgets the files that are
// open. A thread that is about to use one waits for ever. False, with nothing committed: a call is
// under way, in another thread, or in this one, interrupted by a signal whose handler ends the
// process. What such a call holds cannot be waited for.
bool abandon_open_files();
void forget_open_files();

// As abandon_open_files(), and leaves the node. On false the committer commits the bytes, as if
// this process had been killed.
bool end_caching();

// The same for MPI_Finalize, which all ranks call: a job on several nodes leaves them together.
void end_caching_together();

// Makes the process call end_caching() when it exits, also without MPI_Finalize.
void commit_at_exit();

}  // namespace forebay::mpiio
