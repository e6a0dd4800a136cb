// How the file system divides a file among its servers: as the MPI library tells it or, on Lustre,
// the file itself.
#pragma once

#include <string>

#include "mpiio/library/mpi_library.h"
#include "storage/lustre_layout.h"

namespace forebay::mpiio {

// `path`: of the file that the library has open.
Stripes stripes_of(MPI_File file, const std::string& path);

}  // namespace forebay::mpiio
