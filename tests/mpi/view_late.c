// A rank comes late to MPI_File_set_view: what it writes before with the shared file pointer still
// lies where this pointer was. (ROMIO resets the pointer while ranks are on their way.)
//
// ranks: 2 4
// not under: plain process nodes job guests owners first-touch
#include <unistd.h>

#include "check.h"

enum { kBytes = 100, kRounds = 6 };

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/late", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  for (int round = 0; round < kRounds; ++round) {
    const int late = round % size;
    char bytes[kBytes], seen[2 * kBytes];
    if (rank == 0) {
      memset(bytes, 'a' + round, kBytes);
      CHECK_MPI(MPI_File_write_shared(file, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == late) {
      usleep(50000);
      memset(bytes, 'A' + round, kBytes);
      CHECK_MPI(MPI_File_write_shared(file, bytes, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MPI_Offset position = -1;
    CHECK_MPI(MPI_File_get_position_shared(file, &position));
    CHECK(position == 0);
    CHECK_MPI(MPI_File_read_at(file, 0, seen, sizeof seen, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(seen[0] == 'a' + round && seen[kBytes - 1] == 'a' + round);
    CHECK(seen[kBytes] == 'A' + round && seen[2 * kBytes - 1] == 'A' + round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
