// usage: own_parts FILE
// Each rank writes long runs, and then small records, to a part of its own, and reads them back.
#include <stdlib.h>

#include "check.h"

enum { kRun = 8 << 20, kRuns = 3, kRecord = 300, kRecords = 1000 };

int main(int argc, char** argv) {
  int rank = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(argc == 2);
  unsigned char* const memory = malloc(kRun);
  CHECK(memory != NULL);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  const MPI_Offset part = (MPI_Offset)rank * (kRuns + 1) * kRun;
  for (int write = 1; write >= 0; --write) {
    for (int i = 0; i < kRuns + kRecords; ++i) {
      const int bytes = i < kRuns ? kRun : kRecord;
      const MPI_Offset offset =
          part +
          (i < kRuns ? (MPI_Offset)i * kRun : (MPI_Offset)kRuns * kRun + (i - kRuns) * kRecord);
      if (write) {
        fill_bytes(memory, offset, bytes);
        CHECK_MPI(MPI_File_write_at(file, offset, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      } else {
        CHECK_MPI(MPI_File_read_at(file, offset, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(wrong_bytes(memory, offset, bytes) == 0);
      }
    }
  }
  CHECK_MPI(MPI_File_close(&file));
  free(memory);
  MPI_Finalize();
  return 0;
}
