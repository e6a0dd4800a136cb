// Small interleaved records of all ranks: written, synced, read back and closed.
//
//   records FILE RECORDS: RECORDS is the number per rank.
#include "check.h"

enum { kRecord = 300 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int64_t records = atoll(argv[2]);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  unsigned char record[kRecord];
  for (int64_t i = 0; i < records; ++i) {
    const MPI_Offset offset = (i * size + rank) * kRecord;
    fill_bytes(record, offset, kRecord);
    CHECK_MPI(MPI_File_write_at(file, offset, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
  for (int64_t i = 0; i < records * size; i += 1 + rank) {
    CHECK_MPI(MPI_File_read_at(file, i * kRecord, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(record, i * kRecord, kRecord) == 0);
  }
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
