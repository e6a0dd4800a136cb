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

// When ranks see what another rank wrote to a file.
enum class Visibility : uint8_t {
  at_once,
  at_collective_calls,  // the nodes hand their bytes over there
  at_sync,
};

// Notes, for the statistics, a file whose ranks do not see each other's bytes at once.
void note_visibility(const Handle& handle);

// The latest of all files of this and the other ranks. Called by all ranks of MPI_COMM_WORLD.
Visibility latest_visibility();

}  // namespace forebay::mpiio
