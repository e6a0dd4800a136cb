// The texts of all ranks, brought together.
#pragma once

#include <string>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

// Every rank's text one after the other, on rank 0; elsewhere, and where a rank is refused memory,
// "". Called by all ranks of `comm`.
std::string gather(MPI_Comm comm, const std::string& mine);

}  // namespace forebay::mpiio
