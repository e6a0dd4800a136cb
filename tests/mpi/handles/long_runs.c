// usage: long_runs FILE
// Each rank writes a long run, and reads that of the next rank.
#include "check.h"

enum { kBytes = 6 << 20 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 2);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  const MPI_Offset mine = (MPI_Offset)rank * kBytes, next = (rank + 1) % ranks * (MPI_Offset)kBytes;
  unsigned char* memory = malloc(kBytes);
  fill_bytes(memory, mine, kBytes);
  CHECK_MPI(MPI_File_write_at(file, mine, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_read_at(file, next, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(wrong_bytes(memory, next, kBytes) == 0);
  CHECK_MPI(MPI_File_close(&file));
  free(memory);
  MPI_Finalize();
  return 0;
}
