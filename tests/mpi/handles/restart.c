// All ranks write a file together and close it. Then each rank reads all of it through a new
// handle, in pieces of argv[2] bytes, beginning at a place of its own.
#include "check.h"

enum { kRecord = 3000, kRecords = 1200 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int64_t length = atoll(argv[2]), end = (int64_t)kRecord * kRecords;
  unsigned char* memory = malloc((size_t)(length > kRecord ? length : kRecord));
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  for (int64_t record = rank; record < kRecords; record += size) {
    fill_bytes(memory, record * kRecord, kRecord);
    CHECK_MPI(
        MPI_File_write_at(file, record * kRecord, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  const int64_t pieces = (end + length - 1) / length;
  for (int64_t i = 0; i < pieces; ++i) {
    const int64_t at = (i + rank * pieces / size) % pieces * length;
    const int64_t expected = at + length < end ? length : end - at;
    MPI_Status status;
    int got;
    CHECK_MPI(MPI_File_read_at(file, at, memory, (int)length, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &got);
    CHECK(got == expected);
    CHECK(wrong_bytes(memory, at, expected) == 0);
  }
  CHECK_MPI(MPI_File_close(&file));
  free(memory);
  MPI_Finalize();
  return 0;
}
