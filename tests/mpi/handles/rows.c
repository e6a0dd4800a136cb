// Collective accesses of ranks that have the pieces of each row in turn: a row of pieces is written
// in one call, then read by the next ranks, over and over. Between two rows are holes, and one row
// in four lies far away. argv: a folder, the number of rows, pieces a row and rank, bytes a piece.
#include <string.h>

#include "check.h"

int main(int argc, char** argv) {
  int rank, size;
  CHECK_MPI(MPI_Init(&argc, &argv));
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  CHECK(argc == 5);
  const int rows = atoi(argv[2]), pieces = atoi(argv[3]), bytes = atoi(argv[4]);
  const MPI_Offset row_bytes = (MPI_Offset)pieces * size * bytes;
  char name[4096];
  snprintf(name, sizeof name, "%s/rows", argv[1]);
  unsigned char* memory = malloc((size_t)pieces * (size_t)bytes);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  MPI_Datatype row;
  CHECK_MPI(MPI_Type_vector(pieces, bytes, size * bytes, MPI_BYTE, &row));
  CHECK_MPI(MPI_Type_commit(&row));
  for (int pass = 0; pass < 3; ++pass) {
    CHECK_MPI(MPI_File_sync(file));  // with a cache for each process
    CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_MPI(MPI_File_sync(file));
    for (int r = 0; r < rows; ++r) {
      const int mine = (rank + pass) % size;
      const MPI_Offset begin = 77 + r * (row_bytes + 3000) + (r % 4 == 3 ? 500 * row_bytes : 0) +
                               (MPI_Offset)mine * bytes;
      CHECK_MPI(MPI_File_set_view(file, begin, MPI_BYTE, row, "native", MPI_INFO_NULL));
      for (int p = 0; p < pieces && pass == 0; ++p)
        fill_bytes(memory + p * bytes, begin + (MPI_Offset)p * size * bytes, bytes);
      if (pass == 0) {
        CHECK_MPI(
            MPI_File_write_at_all(file, 0, memory, pieces * bytes, MPI_BYTE, MPI_STATUS_IGNORE));
        continue;
      }
      memset(memory, 0, (size_t)pieces * (size_t)bytes);
      CHECK_MPI(MPI_File_read_at_all(file, 0, memory, pieces * bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      for (int p = 0; p < pieces; ++p)
        CHECK(wrong_bytes(memory + p * bytes, begin + (MPI_Offset)p * size * bytes, bytes) == 0);
    }
  }
  CHECK_MPI(MPI_Type_free(&row));
  CHECK_MPI(MPI_File_close(&file));
  free(memory);
  CHECK_MPI(MPI_Finalize());
  return 0;
}
