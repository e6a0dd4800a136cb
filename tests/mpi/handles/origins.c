// Each rank reads blocks of a file, collectively (C) or by itself (I): origins FOLDER C|I old|own.
// `old`: the file was there before, and each rank reads what is not its own. `own`: the ranks write
// the blocks before, and each reads those of the next rank.
#include <string.h>

#include "check.h"

enum { kBlock = 65536, kBlocks = 16 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 4);
  const int collective = argv[2][0] == 'C', own = strcmp(argv[3], "own") == 0;
  static unsigned char memory[kBlock];
  char path[4096];
  snprintf(path, sizeof path, "%s/blocks", argv[1]);
  if (!own && rank == 0) {
    FILE* made = fopen(path, "wb");
    CHECK(made != NULL);
    for (MPI_Offset at = 0; at < (MPI_Offset)size * kBlocks * kBlock; at += kBlock) {
      fill_bytes(memory, at, kBlock);
      CHECK(fwrite(memory, 1, kBlock, made) == kBlock);
    }
    fclose(made);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  for (int writes = own; writes >= 0; --writes) {
    for (int block = 0; block < kBlocks; ++block) {
      const MPI_Offset at = ((MPI_Offset)block * size + (rank + 1 - writes) % size) * kBlock;
      if (writes) {
        fill_bytes(memory, at, kBlock);
        CHECK_MPI((collective ? MPI_File_write_at_all : MPI_File_write_at)(
            file, at, memory, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
      } else {
        CHECK_MPI((collective ? MPI_File_read_at_all : MPI_File_read_at)(
            file, at, memory, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
        CHECK(wrong_bytes(memory, at, kBlock) == 0);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
