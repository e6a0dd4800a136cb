// The MPI library's beginning and end in this process (MPI 4.1, sections 11.2 to 11.4), and
// MPI_Abort.
#pragma once

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();
int abort(MPI_Comm comm, int code);

// Finds out whether several threads may call MPI at once (sessions never call MPI_Init).
void learn_thread_level();

// A program that ends without closing its files, or without MPI_Finalize, would find its bytes in
// the file without Forebay too: from now on they are committed then.
void commit_at_exit();

}  // namespace forebay::mpiio
