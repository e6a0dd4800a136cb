// When the bytes that a rank wrote are visible to other ranks, and what a program is told about it.
//
// HDF5 (from 1.13.2 on) asks MPI_File_get_info for "romio_visibility_immediate". If the value is
// "false", HDF5 refuses independent writes and syncs after collective ones. If the key is missing,
// it does neither, unless HDF5_DO_MPI_FILE_SYNC says so.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// Sets the key in `info`: "true" if the ranks share one cache, whatever the library says about the
// file system; no key if they see each other's bytes only after a sync or close.
void tell_visibility(const Handle& handle, MPI_Info info);

// Notes, for the statistics, a file whose ranks do not share one cache.
void note_visibility(const Handle& handle);

// Whether this or another rank of the job had such a file. Called by all ranks of MPI_COMM_WORLD.
bool any_caches_apart();

}  // namespace forebay::mpiio
