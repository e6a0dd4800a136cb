// Compares the results of transfers, and the contents of files, with the model.
#pragma once

#include <mpi.h>

#include "buffer.h"
#include "rank.h"

namespace random_io {

// Checks a completed transfer of this rank.
void verify_transfer(Rank& rank, const Planned& planned, const Part& part, Buffer& buffer,
                     const MPI_Status& status);
// Rank 0 compares the file, which is settled and in storage.
void compare_file(const Rank& rank, const Planned& planned, int file);

}  // namespace random_io
