// The sets of hints that schedules pass at open and set_info, by index.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace random_io {

// MPI_INFO_NULL where the set is empty. Without `data_sieving` ROMIO is told not to write by
// reading more, merging and writing back. The caller frees.
MPI_Info make_hints(int64_t index, bool data_sieving);
void free_hints(MPI_Info info);

}  // namespace random_io
