// Four ranks write a tile of an array each in one collective call, and read it in another. The
// second argument is the number of nodes, which have the ranks in turn: with two, each node has the
// tiles of a half. With "beside" rank 0 has the file open by itself, too; with "before" it had
// opened it before all of them did. With "logs" each rank has a file of its own open since before.
// With "again" the file is closed, and each rank reads its tile by itself from the reopened one.
#include <string.h>

#include "check.h"

enum { kPiece = 4096, kRows = 256, kBytes = kPiece * kRows };

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  static unsigned char memory[kBytes];
  char path[4096];
  snprintf(path, sizeof path, "%s/tiles", argv[1]);
  MPI_File file, alone = MPI_FILE_NULL;
  if (argc > 3 && strcmp(argv[3], "before") == 0 && rank == 0)
    CHECK_MPI(
        MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &alone));
  if (argc > 3 && strcmp(argv[3], "logs") == 0) {
    char log[4200];
    snprintf(log, sizeof log, "%s-log-%d", path, rank);
    CHECK_MPI(
        MPI_File_open(MPI_COMM_SELF, log, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &alone));
    CHECK_MPI(MPI_File_write(alone, log, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  if (argc > 3 && strcmp(argv[3], "beside") == 0 && rank == 0)
    CHECK_MPI(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &alone));
  MPI_Barrier(MPI_COMM_WORLD);
  const int half = atoi(argv[2]) == 2 ? rank % 2 : rank / 2;
  const int column = atoi(argv[2]) == 2 ? rank / 2 : rank % 2;
  const MPI_Offset width = 2 * kPiece, mine = half * kRows * width + column * kPiece;
  MPI_Datatype tile;
  CHECK_MPI(MPI_Type_vector(kRows, kPiece, (int)width, MPI_BYTE, &tile));
  CHECK_MPI(MPI_Type_commit(&tile));
  CHECK_MPI(MPI_File_set_view(file, mine, MPI_BYTE, tile, "native", MPI_INFO_NULL));
  fill_bytes(memory, rank, kBytes);
  CHECK_MPI(MPI_File_write_all(file, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  memset(memory, 0, kBytes);
  CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
  CHECK_MPI(MPI_File_read_all(file, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(wrong_bytes(memory, rank, kBytes) == 0);
  if (alone != MPI_FILE_NULL) CHECK_MPI(MPI_File_close(&alone));
  CHECK_MPI(MPI_File_close(&file));
  if (argc > 3 && strcmp(argv[3], "again") == 0) {
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    CHECK_MPI(MPI_File_set_view(file, mine, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    memset(memory, 0, kBytes);
    CHECK_MPI(MPI_File_read(file, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, rank, kBytes) == 0);
    CHECK_MPI(MPI_File_close(&file));
  }
  CHECK_MPI(MPI_Type_free(&tile));
  MPI_Finalize();
  return 0;
}
