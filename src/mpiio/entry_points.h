// The MPI routines that Forebay answers itself. Each entry point finds the handle's cache and acts
// on it, or passes the call through to the MPI library unchanged.
#pragma once

#include "mpiio/entry_table.h"
#include "mpiio/library/mpi_library.h"
