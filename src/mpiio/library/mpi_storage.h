// Storage "mpi": commits and fetches go through the MPI library's own file, opened by this process
// alone, so that whatever the library knows of the file system (striping, a driver of its own) is
// used. A list of requests is one noncontiguous access of the library.
#pragma once

#include <string>

#include "mpiio/library/mpi_library.h"
#include "storage/storage.h"

namespace forebay::mpiio {

// `name` as the user gave it, prefix included; `info` may be null.
OpenedStorage open_mpi_storage(const std::string& name, bool readable, bool writable,
                               MPI_Info info);

}  // namespace forebay::mpiio
