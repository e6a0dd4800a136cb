// Options as hints (MPI 4.1, section 14.2.8): "forebay_page_size" in an MPI_Info overrides the
// environment for one file, and MPI_File_get_info tells the values in use.
#pragma once

#include "mpiio/handle.h"
#include "options/options.h"

namespace forebay::mpiio {

// The process's options with the hints of `info` applied.
Options file_options(MPI_Info info);

int get_info(Handle& handle, MPI_Info* info);

}  // namespace forebay::mpiio
