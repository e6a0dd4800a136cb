// usage: readers FILE [write]
// All ranks read a file that none of them can write to; then, with `write`, the last rank opens it
// by itself and writes, and all read again.
#include <string.h>

#include "check.h"

enum { kRecord = 1000, kRecords = 1000, kChanged = 7 };

// Reads all records. Every kChanged-th has bytes that belong `shift` further on.
static void read_all(MPI_File file, int shift) {
  unsigned char memory[kRecord];
  MPI_Status status;
  int count = 0;
  for (int record = 0; record < kRecords; ++record) {
    const MPI_Offset offset = (MPI_Offset)record * kRecord;
    CHECK_MPI(MPI_File_read_at(file, offset, memory, kRecord, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == kRecord);
    CHECK(wrong_bytes(memory, offset + (record % kChanged == 0 ? shift : 0), kRecord) == 0);
  }
  CHECK_MPI(
      MPI_File_read_at(file, (MPI_Offset)kRecords * kRecord, memory, kRecord, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(argc == 2 || (argc == 3 && strcmp(argv[2], "write") == 0));
  unsigned char memory[kRecord];
  if (rank == 0) {
    FILE* const made = fopen(argv[1], "wb");
    CHECK(made != NULL);
    for (int record = 0; record < kRecords; ++record) {
      fill_bytes(memory, (MPI_Offset)record * kRecord, kRecord);
      CHECK(fwrite(memory, kRecord, 1, made) == 1);
    }
    CHECK(fclose(made) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  read_all(file, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc == 3) {
    MPI_File mine = MPI_FILE_NULL;
    if (rank == ranks - 1) {
      CHECK_MPI(MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &mine));
      for (int record = 0; record < kRecords; record += kChanged) {
        const MPI_Offset offset = (MPI_Offset)record * kRecord;
        fill_bytes(memory, offset + 1, kRecord);
        CHECK_MPI(MPI_File_write_at(mine, offset, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    read_all(file, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (mine != MPI_FILE_NULL) CHECK_MPI(MPI_File_close(&mine));
  }
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
