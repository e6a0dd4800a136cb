// Opens and closes files (MPI 4.1, section 14.2). The MPI library always opens the file, with the
// user's arguments; then the ranks agree whether Forebay caches it.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

int open_file(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* file);
int close_file(MPI_File* file);

// Leaves the cache: the file's bytes are committed or, with `discard`, dropped. Called with the
// handle's lock.
Status leave_cache(Handle& handle, bool discard, const runtime::CachedFile::Rest* rest = nullptr);

}  // namespace forebay::mpiio
