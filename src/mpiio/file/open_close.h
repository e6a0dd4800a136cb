// Opening, closing and deleting files (MPI 4.1, section 14.2). The MPI library always opens the
// file, with the user's arguments; then the ranks agree whether it is cached.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

int open_file(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* file);
int close_file(MPI_File* file);

// For MPI_Finalize, MPI_Abort and the end of the process: what is left open is committed and no
// longer known; a thread that is about to use it waits for ever. Waits for no other rank. False,
// with nothing committed: a call is under way, of another thread or of this one, interrupted by a
// signal whose handler ends the process; nothing that it holds can be waited for.
bool abandon_open_files();
void forget_open_files();

}  // namespace forebay::mpiio
