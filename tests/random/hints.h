// The sets of hints that schedules pass at open and set_info, by index.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace random_io {

// The hints of a set; MPI_INFO_NULL if it is empty. Without `data_sieving`, ROMIO must not write by
// reading more, merging and writing back. The caller frees the result.
MPI_Info make_hints(int64_t index, bool data_sieving);
void free_hints(MPI_Info info);

}  // namespace random_io
