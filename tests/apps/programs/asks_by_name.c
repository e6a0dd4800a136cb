/* Asks for the functions of forebay.h by name, as a program does that may run with or without it.
 */
#include <dlfcn.h>
#include <forebay/forebay.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_File file;
  char name[32];
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "asked.%d", rank);
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  for (int i = 0; i < 10; ++i)
    MPI_File_write_at(file, i * 8, "1234567", 8, MPI_BYTE, MPI_STATUS_IGNORE);
  void (*get_statistics)(struct forebay_statistics*);
  const char* (*abi)(void);
  *(void**)&get_statistics = dlsym(RTLD_DEFAULT, "forebay_get_statistics");
  *(void**)&abi = dlsym(dlopen(NULL, RTLD_LAZY), "forebay_abi");
  if (get_statistics == NULL || abi == NULL) {
    puts("absent");
  } else {
    struct forebay_statistics statistics;
    get_statistics(&statistics);
    printf("%s %d\n", abi(), (int)statistics.write_calls);
  }
  if (dlsym(RTLD_DEFAULT, "forebay_attach") != NULL) puts("a name that is not public was found");
  MPI_File_close(&file);
  MPI_Finalize();
  return 0;
}
