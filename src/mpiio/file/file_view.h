// Sets views (MPI 4.1, section 14.3), and shows them to the MPI library. While a file is cached,
// the library sees only the etype. That is enough to check arguments, and the library need not
// flatten file types of millions of blocks that it will never walk. It sees the whole view if it
// carries out accesses or keeps the shared pointer itself.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

int set_view(Handle& handle, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* datarep, MPI_Info info);
int get_view(Handle& handle, MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype,
             char* datarep);

// Shows the whole view to the library, so that it can carry out accesses itself. All ranks call it.
int show_view_to_library(Handle& handle);

}  // namespace forebay::mpiio
