// How the file system divides a file among its servers, as far as the MPI library knows it.
#pragma once

#include <cstdint>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

struct Stripes {
  int64_t bytes = 0;    // of a stripe (hint striping_unit); 0: not known
  int64_t servers = 0;  // (hint striping_factor); 0: not known
};

Stripes stripes_of(MPI_File file);

}  // namespace forebay::mpiio
