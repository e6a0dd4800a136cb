// Gathers the texts of all ranks.
#pragma once

#include <string>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

// On rank 0, the texts of all ranks one after the other. On other ranks, and if a rank is refused
// memory, "". Called by all ranks of `comm`.
std::string gather(MPI_Comm comm, const std::string& mine);

}  // namespace forebay::mpiio
