// argv: a file. All ranks write it in turn and sync; rank 0 makes it shorter past MPI. After the
// standard's sync, barrier, sync all ranks see the new size, and read nothing beyond.
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 100, kPieces = 100, kLeft = 1000 };

int main(int argc, char** argv) {
  int rank, size;
  CHECK_MPI(MPI_Init(&argc, &argv));
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(argc == 2);
  unsigned char memory[2 * kBytes];
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  for (int i = 0; i < kPieces; ++i) {
    const MPI_Offset at = (MPI_Offset)(i * size + rank) * kBytes;
    fill_bytes(memory, at, kBytes);
    CHECK_MPI(MPI_File_write_at(file, at, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_sync(file));
  if (rank == 0) CHECK(truncate(argv[1], kLeft) == 0);
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_sync(file));
  MPI_Offset bytes = -1;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  CHECK(bytes == kLeft);
  MPI_Status status;
  int got = -1;
  CHECK_MPI(MPI_File_read_at(file, kLeft - kBytes / 2, memory, 2 * kBytes, MPI_BYTE, &status));
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
  CHECK(got == kBytes / 2);
  CHECK(wrong_bytes(memory, kLeft - kBytes / 2, got) == 0);
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_Finalize());
  return 0;
}
