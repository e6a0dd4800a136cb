// Each rank writes a file of its own, then all ranks write one file together, record by record:
//   jobs FOLDER alone|shared|together|kept
// alone, shared: only the former or the latter; kept: a rank's own file stays open meanwhile.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { records = 100, record_bytes = 300 };

static MPI_File open_file(MPI_Comm comm, const char* folder, const char* name, int number) {
  char path[4096];
  MPI_File file;
  snprintf(path, sizeof path, "%s/%s%d", folder, name, number);
  CHECK(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
        MPI_SUCCESS);
  return file;
}

int main(int argc, char** argv) {
  int rank, ranks;
  char record[record_bytes];
  CHECK(argc == 3);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memset(record, 'A' + rank, sizeof record);
  MPI_File own = MPI_FILE_NULL;
  if (strcmp(argv[2], "shared") != 0) {
    own = open_file(MPI_COMM_SELF, argv[1], "own", rank);
    MPI_File_write_at(own, 0, record, record_bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (strcmp(argv[2], "kept") != 0) MPI_File_close(&own);
  }
  if (strcmp(argv[2], "alone") != 0) {
    MPI_File shared = open_file(MPI_COMM_WORLD, argv[1], "shared", 0);
    for (int i = 0; i < records; ++i)
      MPI_File_write_at(shared, (MPI_Offset)record_bytes * (i * ranks + rank), record, record_bytes,
                        MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&shared);
  }
  if (own != MPI_FILE_NULL) MPI_File_close(&own);
  MPI_Finalize();
  return 0;
}
