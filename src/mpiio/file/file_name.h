// From the name that a user gives to MPI_File_open to the path that the cache opens. ROMIO accepts
// a prefix that names the file system ("ufs:/scratch/out.dat").
#pragma once

#include <string>

namespace forebay::mpiio {

// The path in `name`: without its prefix if that is of a mounted file system. Any other name is
// returned as it is; with a prefix that only the MPI library knows, it is not the path of a regular
// file.
std::string posix_path(const std::string& name);

}  // namespace forebay::mpiio
