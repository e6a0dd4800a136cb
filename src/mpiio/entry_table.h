/* What an interposer tells the preloaded library: its MPI entry points by name. C, so that the
 * preload needs neither C++ nor an mpi.h. The functions are found by dlsym after dlopen. */
#ifndef FOREBAY_MPIIO_ENTRY_TABLE_H
#define FOREBAY_MPIIO_ENTRY_TABLE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One routine: slots that import `MPI_<name>` or `PMPI_<name>` are to call `function`. */
struct forebay_entry_point {
  const char* name; /* without the MPI_ or PMPI_ in front: "File_open" */
  void* function;
};

/* The table, of *count entries, constant as long as the interposer is loaded. It may name routines
 * that the program's MPI lacks (large counts); those must not be offered to the program. */
const struct forebay_entry_point* forebay_entry_points(size_t* count);

/* Connects the interposer to the MPI library loaded from `libmpi_path` (as dl_iterate_phdr names
 * it), or to the one it finds loaded if NULL. Returns 0, or -1 when the library is not loaded or is
 * not an MPI library: then no slot may be pointed at the interposer. May be called again. */
int forebay_attach(const char* libmpi_path);

/* Tells the interposer that objects were loaded, whenever some were: once told, it looks for them
 * only then. */
void forebay_objects_loaded(void);

#ifdef __cplusplus
}
#endif

#endif
