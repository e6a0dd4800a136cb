/* Whether Forebay serves a file, as a program can tell while it runs: for programs that end without
 * the statistics of MPI_Finalize. */
#ifndef FOREBAY_TESTS_CACHED_H
#define FOREBAY_TESTS_CACHED_H

#include <mpi.h>

/* The hints in effect name Forebay's where the file is in its cache. */
static inline int is_cached(MPI_File file) {
  MPI_Info hints;
  int found = 0;
  char value[MPI_MAX_INFO_VAL + 1];
  if (MPI_File_get_info(file, &hints) != MPI_SUCCESS) return 0;
  MPI_Info_get(hints, "forebay_scope", MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&hints);
  return found;
}

#endif
