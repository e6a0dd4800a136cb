// All ranks have a file open; rank 0 gives it another name, and makes another file under the old
// name. Whatever becomes of the ranks' writes, the other file stays as it is.
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  CHECK_MPI(MPI_Init(&argc, &argv));
  int rank;
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK(argc == 2);
  char other[4096];
  snprintf(other, sizeof other, "%s.renamed", argv[1]);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    CHECK(rename(argv[1], other) == 0);
    FILE* const made = fopen(argv[1], "w");
    CHECK(made != NULL && fputs("another file", made) >= 0 && fclose(made) == 0);
  }
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  unsigned char memory[1000];
  memset(memory, 'x', sizeof memory);
  for (int i = 0; i < 100; ++i)
    (void)MPI_File_write_at(file, (MPI_Offset)(4 * i + rank) * 1000, memory, 1000, MPI_BYTE,
                            MPI_STATUS_IGNORE);
  (void)MPI_File_close(&file);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  char text[100] = "";
  FILE* const left = fopen(argv[1], "r");
  CHECK(left != NULL && fread(text, 1, sizeof text, left) == strlen("another file"));
  CHECK(strcmp(text, "another file") == 0);
  fclose(left);
  CHECK_MPI(MPI_Finalize());
  return 0;
}
