// usage: interleaved FILE [count]
// Ranks write records in turn, of so many bytes that chunks of owners end within them, and read
// them back through the same handle; `count` times 16 MiB.
#include <stdlib.h>

#include "check.h"

enum { kRecord = 47008, kRecords = 360 };

int main(int argc, char** argv) {
  int rank = -1, ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc > 1);
  const int records = kRecords * (argc > 2 ? atoi(argv[2]) : 1);
  unsigned char* const memory = malloc(kRecord);
  CHECK(memory != NULL);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  for (int record = rank; record < records; record += ranks) {
    const MPI_Offset offset = (MPI_Offset)record * kRecord;
    fill_bytes(memory, offset, kRecord);
    CHECK_MPI(MPI_File_write_at(file, offset, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int record = rank; record < records; record += ranks) {
    const MPI_Offset offset = (MPI_Offset)record * kRecord;
    CHECK_MPI(MPI_File_read_at(file, offset, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, offset, kRecord) == 0);
  }
  CHECK_MPI(MPI_File_close(&file));
  free(memory);
  MPI_Finalize();
  return 0;
}
