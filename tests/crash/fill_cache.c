// Each rank writes its part of the file in small records, and prints the cache's size. Arguments:
// the file, and MiB per rank.
#include <stdlib.h>

#include "check.h"

enum { record = 16 << 10 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int64_t mine = (int64_t)atoi(argv[2]) << 20;
  static unsigned char bytes[record];
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                          &file));
  for (int64_t at = rank * mine; at < (rank + 1) * mine; at += record) {
    fill_bytes(bytes, at, record);
    CHECK_MPI(MPI_File_write_at(file, at, bytes, record, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  MPI_Info info;
  char size[MPI_MAX_INFO_VAL + 2];
  int known;
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "forebay_cache_size", MPI_MAX_INFO_VAL, size, &known);
  MPI_Info_free(&info);
  // In one piece, since pieces of the ranks' lines may come out mixed.
  if (known) fputs(strcat(size, "\n"), stdout);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
