// What the MPI library is told of views (MPI 4.1, section 14.3). While a file is cached it sees
// only the etype: enough for it to check arguments, and it need not flatten file types of millions
// of blocks that it will never walk.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

int set_view(Handle& handle, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* datarep, MPI_Info info);
int get_view(Handle& handle, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype,
             char* datarep);

// Gives the library the whole view, for it to carry out accesses itself. All ranks call it.
int show_view_to_library(Handle& handle);

}  // namespace forebay::mpiio
