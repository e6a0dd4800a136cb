// A call without a data type is an error of its file, also where it is the first access to the
// file, and one of all ranks.
#include "check.h"

int main(int argc, char** argv) {
  CHECK_MPI(MPI_Init(&argc, &argv));
  char name[4096];
  snprintf(name, sizeof name, "%s/null-type", argv[1]);
  unsigned char memory[8] = {0};
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CHECK(MPI_File_write_at_all(file, 0, memory, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS);
  CHECK(MPI_File_read_at_all(file, 0, memory, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE) !=
        MPI_SUCCESS);
  CHECK_MPI(MPI_File_write_at_all(file, 0, memory, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_Finalize());
  return 0;
}
