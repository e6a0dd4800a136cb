// Files that a program leaves open when MPI or the process ends. Without Forebay their bytes would
// be in the files: they are committed then. Nothing here waits for another rank.
#pragma once

namespace forebay::mpiio {

// For MPI_Finalize, MPI_Abort and the end of the process: what is left open is committed and no
// longer known; a thread that is about to use it waits for ever. False, with nothing committed: a
// call is under way, of another thread or of this one, interrupted by a signal whose handler ends
// the process; nothing that it holds can be waited for.
bool abandon_open_files();
void forget_open_files();

// The same, and leaves the node's cache. What is not committed is left to the committer, as if this
// process had been killed.
bool end_caching();

// From now on a program that ends without MPI_Finalize ends its caching.
void commit_at_exit();

}  // namespace forebay::mpiio
