/* Opens a file, writes eight bytes and closes it. */
#include <mpi.h>

int main(int argc, char** argv) {
  const int values[2] = {17, 4};
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, "written", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 0, values, 2, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return MPI_Finalize();
}
