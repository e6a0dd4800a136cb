// When what one rank wrote is visible to the others, and what a program is told of it.
//
// HDF5 (from 1.13.2 on) asks MPI_File_get_info for "romio_visibility_immediate". Where that is
// "false" it refuses independent writes, and syncs after collective ones; where the key is missing
// it does neither, unless HDF5_DO_MPI_FILE_SYNC says so.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// "true" where the ranks meet in one cache, whatever the library says of the file system; no key
// where they see each other's bytes after a sync or close only.
void tell_visibility(const Handle& handle, MPI_Info info);

// Remembers, for the statistics, a file whose ranks have caches apart.
void note_visibility(const Handle& handle);

// Whether this or another rank of the job had such a file. Called by all ranks of MPI_COMM_WORLD.
bool any_caches_apart();

}  // namespace forebay::mpiio
