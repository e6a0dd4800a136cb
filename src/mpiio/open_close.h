// Opening, closing and deleting files (MPI 4.1, section 14.2). The MPI library always opens the
// file, with the user's arguments; then the ranks agree whether it is cached.
#pragma once

#include "mpiio/handle.h"

namespace forebay::mpiio {

int open_file(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* file);
int close_file(MPI_File* file);

// For MPI_Finalize and the end of the process: what is left open is committed, keeps its dirty
// bytes in storage, and is no longer known. Waits for no other rank.
void abandon_open_files();

}  // namespace forebay::mpiio
