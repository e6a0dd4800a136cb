// What Forebay does when MPI begins and ends in this process (MPI 4.1, sections 11.2 to 11.4), and
// at MPI_Abort.
#pragma once

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();
int abort(MPI_Comm comm, int code);

}  // namespace forebay::mpiio
