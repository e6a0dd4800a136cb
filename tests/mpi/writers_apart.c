// Ranks write records that alternate, each in calls of its own, into a file larger than the cache.
// The last rank is slow: after every few records it loses the processor for a while.
#include <time.h>

#include "check.h"

enum { kRecord = 3000, kRecords = 1600, kAFew = 40 };

int main(int argc, char** argv) {
  int rank, ranks;
  CHECK_MPI(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char record[kRecord];
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, "records", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  for (int i = 0; i < kRecords; ++i) {
    const MPI_Offset at = (MPI_Offset)kRecord * (i * ranks + rank);
    fill_bytes(record, at, kRecord);
    CHECK_MPI(MPI_File_write_at(file, at, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    if (rank == ranks - 1 && i % kAFew == 0) nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, "records", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  for (int i = 0; i < kRecords; ++i) {
    const MPI_Offset at = (MPI_Offset)kRecord * (i * ranks + rank);
    CHECK_MPI(MPI_File_read_at(file, at, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(record, at, kRecord) == 0);
  }
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
