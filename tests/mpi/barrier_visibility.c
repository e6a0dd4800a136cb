// What programs expect on one node: after a barrier alone, a rank sees bytes that another rank, or
// another handle, wrote (POSIX visibility).
//
// not under: nodes process job guests
#include "check.h"

enum { kBytes = 613, kRounds = 30 };

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/visible", argv[1]);
  MPI_File file, own;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CHECK_MPI(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &own));
  unsigned char memory[kBytes];
  int next = (rank + 1) % size;
  for (int round = 0; round < kRounds; ++round) {
    // Each round overwrites the bytes of the one before.
    MPI_Offset mine = (MPI_Offset)rank * kBytes, other = (MPI_Offset)next * kBytes;
    fill_bytes(memory, mine + round * 7919, kBytes);
    CHECK_MPI(MPI_File_write_at(file, mine, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_read_at(round % 2 ? own : file, other, memory, kBytes, MPI_BYTE,
                               MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, other + round * 7919, kBytes) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_MPI(MPI_File_close(&own));
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
