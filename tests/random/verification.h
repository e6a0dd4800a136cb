// What transfers have moved and what files hold, against the model.
#pragma once

#include <mpi.h>

#include "buffer.h"
#include "rank.h"

namespace random_io {

// A transfer of this rank's that is complete.
void verify_transfer(Rank& rank, const Planned& planned, const Part& part, Buffer& buffer,
                     const MPI_Status& status);
// Rank 0 compares the file, which is settled and in storage.
void compare_file(const Rank& rank, const Planned& planned, int file);

}  // namespace random_io
