/* Calls an MPI library in every way a program may, and prints who answered. The same source is the
 * executable that is linked with the library and the plugin that is loaded later. */
#include <stdio.h>

const char* MPI_File_open(void);
const char* PMPI_File_open(void);
const char* MPI_File_close(void);
const char* MPI_Comm_rank(void);
const char* library_opens(void);
const char* MPI_File_open_c(void) __attribute__((weak));

static const char* (*writable_table[])(void) = {MPI_File_open};
static const char* (*const constant_table[])(void) = {PMPI_File_open};

void call_all(void) {
  const char* (*volatile pointer)(void) = MPI_File_open;
  printf(
      "open=%s popen=%s again=%s pointer=%s table=%s constant=%s close=%s rank=%s inside=%s c=%s\n",
      MPI_File_open(), PMPI_File_open(), MPI_File_open(), pointer(), writable_table[0](),
      constant_table[0](), MPI_File_close(), MPI_Comm_rank(), library_opens(),
      MPI_File_open_c != 0 ? "present" : "absent");
}
