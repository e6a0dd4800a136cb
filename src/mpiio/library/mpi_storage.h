// Storage "mpi": commits and fetches go through a file of the MPI library, opened by this process
// alone. So they use what the library knows of the file system (striping, a driver of its own).
// Where the library can do it well, a list of writes is one noncontiguous access.
#pragma once

#include <string>

#include "mpiio/library/mpi_library.h"
#include "storage/storage.h"

namespace forebay::mpiio {

// `name`: as the user gave it, with its prefix. `info`: may be MPI_INFO_NULL.
OpenedStorage open_mpi_storage(const std::string& name, bool readable, bool writable,
                               MPI_Info info);

}  // namespace forebay::mpiio
