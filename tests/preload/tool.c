/* Stands for a profiling tool in front of the MPI library. Down it calls by its own slot, or by
 * dlsym(RTLD_NEXT) as Darshan does, which also takes the PMPI_ names (BOTH_NAMES). Answers "tool>"
 * and what it was answered. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#ifndef BOTH_NAMES
const char* PMPI_File_open(void);
#endif

const char* MPI_File_open(void) {
  static char answer[64];
#ifdef BY_DLSYM
  const char* (*down)(void) = (const char* (*)(void))dlsym(RTLD_NEXT, "PMPI_File_open");
#else
  const char* (*down)(void) = PMPI_File_open;
#endif
  snprintf(answer, sizeof answer, "tool>%s", down != 0 ? down() : "nothing");
  return answer;
}

#ifdef BOTH_NAMES
const char* PMPI_File_open(void) { return MPI_File_open(); }
#endif
