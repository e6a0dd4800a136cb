// Names as users give them to MPI_File_open, and the path the cache is to open. ROMIO takes a
// prefix that names the file system ("ufs:/scratch/out.dat").
#pragma once

#include <optional>
#include <string>

namespace forebay::mpiio {

// The path of the regular file that `name` means now that the library has opened it. Nothing when
// it is not one that can be opened by its path (another kind of file, a file system that only the
// MPI library speaks): then the file passes through.
std::optional<std::string> posix_path(const std::string& name);

}  // namespace forebay::mpiio
