// How the file system divides a file among its servers: as the MPI library tells it or, on Lustre,
// the file itself.
#pragma once

#include <cstdint>
#include <string>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

struct Stripes {
  int64_t bytes = 0;    // of a stripe (hint striping_unit); 0: not known
  int64_t servers = 0;  // (hint striping_factor); 0: not known
};

// `path`: of the file that the library has open.
Stripes stripes_of(MPI_File file, const std::string& path);

}  // namespace forebay::mpiio
