// Ranks write records in turn through a handle of all, and then each through one of its own, as
// PnetCDF does for independent calls.
#include "check.h"

enum { kRecord = 100, kRecords = 100 };

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char path[4096];
  (void)argc;
  snprintf(path, sizeof path, "%s/records", argv[1]);
  unsigned char memory[kRecord];
  MPI_File file, own;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CHECK_MPI(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &own));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int record = 0; record < kRecords; ++record) {
    const MPI_Offset offset = (MPI_Offset)(record * ranks + rank) * kRecord;
    fill_bytes(memory, offset, kRecord);
    CHECK_MPI(MPI_File_write_at(file, offset, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  for (int turn = 0; turn < ranks; ++turn) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (turn != rank) continue;
    // What another rank wrote last, and a record behind all.
    const MPI_Offset last = (MPI_Offset)((kRecords - 1) * ranks + (rank + 1) % ranks) * kRecord;
    const MPI_Offset behind = (MPI_Offset)(kRecords * ranks + rank) * kRecord;
    CHECK_MPI(MPI_File_read_at(own, last, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, last, kRecord) == 0);
    fill_bytes(memory, behind, kRecord);
    CHECK_MPI(MPI_File_write_at(own, behind, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_close(&own));
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
