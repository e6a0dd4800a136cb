// Writes RECORDS records, with a sync after every hundred, and dies by SIGKILL a second later.
// Arguments: FILE RECORDS.
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"

enum { RECORD = 100 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  unsigned char record[RECORD];
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  for (int i = 0; i < atoi(argv[2]); ++i) {
    if (i > 0 && i % 100 == 0) CHECK_MPI(MPI_File_sync(file));
    fill_bytes(record, (int64_t)i * RECORD, RECORD);
    CHECK_MPI(MPI_File_write_at(file, (MPI_Offset)i * RECORD, record, RECORD, MPI_BYTE,
                                MPI_STATUS_IGNORE));
  }
  sleep(1);
  raise(SIGKILL);
  return 0;
}
