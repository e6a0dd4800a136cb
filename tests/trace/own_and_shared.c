// Each rank writes and reads records of a file of its own, and in between of one that all share.
//     own_and_shared FILE
#include <mpi.h>
#include <stdio.h>

enum { records = 40, record_bytes = 3000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", argv[1], rank);
  MPI_File own, shared;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &own);
  MPI_File_open(MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &shared);
  char record[record_bytes] = {0};
  for (int n = 0; n < records; ++n) {
    const MPI_Offset at = (MPI_Offset)n * record_bytes;
    MPI_File_write_at(own, at, record, record_bytes, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_write_at(shared, at * ranks + (MPI_Offset)rank * record_bytes, record, record_bytes,
                      MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_read_at(own, at / 2, record, record_bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  }
  MPI_File_close(&shared);
  MPI_File_close(&own);
  MPI_Finalize();
  return 0;
}
