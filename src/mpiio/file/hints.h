// Options as hints (MPI 4.1, section 14.2.8): "forebay_page_size" in an MPI_Info overrides the
// environment for one file. MPI_File_get_info returns the values in use.
#pragma once

#include <optional>
#include <string>

#include "mpiio/file/handle.h"
#include "options/options.h"

namespace forebay::mpiio {

// The process's options with the hints of `info` applied, for a file that is to be opened.
Options file_options(MPI_Info info, const std::string& file, Mistakes& mistakes);

// The options of an open file with the hints of `info` that may change while it is open; nothing if
// `info` holds no hints for Forebay.
std::optional<Options> changed_options(const Handle& handle, MPI_Info info, Mistakes& mistakes);

// Switches off background work if storage is the MPI library's own file and only one thread may
// call MPI: then storage may be used only within the program's calls.
void keep_to_calls(Options& options);

int set_info(Handle& handle, MPI_Info info);
int get_info(Handle& handle, MPI_Info* info);

}  // namespace forebay::mpiio
