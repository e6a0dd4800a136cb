// Options as hints (MPI 4.1, section 14.2.8): "forebay_page_size" in an MPI_Info overrides the
// environment for one file, and MPI_File_get_info tells the values in use.
#pragma once

#include <optional>
#include <string>

#include "mpiio/file/handle.h"
#include "options/options.h"

namespace forebay::mpiio {

// The process's options with the hints of `info` applied, for a file that is to be opened.
Options file_options(MPI_Info info, const std::string& file, Mistakes& mistakes);

// The options of an open file with those hints of `info` applied that may change there; nothing
// where it holds no hints for Forebay.
std::optional<Options> changed_options(const Handle& handle, MPI_Info info, Mistakes& mistakes);

// The MPI library's own file as storage is used by calls of the program alone, unless several
// threads may call the library: nothing is done in the background.
void keep_to_calls(Options& options);

int set_info(Handle& handle, MPI_Info info);
int get_info(Handle& handle, MPI_Info* info);

}  // namespace forebay::mpiio
