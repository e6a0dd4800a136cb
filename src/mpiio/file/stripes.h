// How the file system divides a file among its servers: as the MPI library tells it or, on Lustre,
// the file itself.
#pragma once

#include "mpiio/library/mpi_library.h"
#include "runtime/cache/cached_file.h"
#include "storage/lustre_layout.h"

namespace forebay::mpiio {

// `file`: the same, as the library has it open.
Stripes stripes_of(const runtime::CachedFile& cached, MPI_File file);

}  // namespace forebay::mpiio
