// Names as users give them to MPI_File_open, and the path the cache is to open. ROMIO takes a
// prefix that names the file system ("ufs:/scratch/out.dat").
#pragma once

#include <string>

namespace forebay::mpiio {

// The path that `name` means, if it means one: the name of a file that only the MPI library speaks
// is none of a regular file.
std::string posix_path(const std::string& name);

}  // namespace forebay::mpiio
