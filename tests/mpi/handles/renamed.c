// All ranks have a file open; rank 0 removes it, or gives it another name and makes another file
// under the old one. Either way the ranks go on with their file, and the other file stays as it is.
#include <string.h>

#include "check.h"

enum { RECORDS = 100, RECORD = 1000 };

static MPI_Offset place_of(int number, int rank, int ranks) {
  return (MPI_Offset)(number * ranks + rank) * RECORD;
}

int main(int argc, char** argv) {
  CHECK_MPI(MPI_Init(&argc, &argv));
  int rank, ranks;
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &ranks));
  CHECK(argc == 3);
  const int renames = strcmp(argv[2], "renamed") == 0;
  char other[4096];
  snprintf(other, sizeof other, "%s.renamed", argv[1]);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0 && !renames) CHECK(remove(argv[1]) == 0);
  if (rank == 0 && renames) {
    CHECK(rename(argv[1], other) == 0);
    FILE* const made = fopen(argv[1], "w");
    CHECK(made != NULL && fputs("another file", made) >= 0 && fclose(made) == 0);
  }
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  unsigned char memory[RECORD];
  for (int i = 0; i < RECORDS; ++i) {
    const MPI_Offset offset = place_of(i, rank, ranks);
    fill_bytes(memory, offset, RECORD);
    if (i < RECORDS / 2)
      CHECK_MPI(MPI_File_write_at(file, offset, memory, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
    else
      CHECK_MPI(MPI_File_write_at_all(file, offset, memory, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_sync(file));
  MPI_Offset size;
  CHECK_MPI(MPI_File_get_size(file, &size));
  CHECK(size == (MPI_Offset)RECORDS * RECORD * ranks);
  for (int i = 0; i < RECORDS; ++i) {
    const MPI_Offset offset = place_of(i, (rank + 1) % ranks, ranks);
    CHECK_MPI(MPI_File_read_at(file, offset, memory, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, offset, RECORD) == 0);
  }
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_Finalize());
  return 0;
}
