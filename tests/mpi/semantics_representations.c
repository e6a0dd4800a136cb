// The MPI library serves data representations (MPI 4.1, section 14.5) other than native. Bytes
// written before, through and after such a view are in one file. Open MPI has no other
// representations.
#include <string.h>

#include "check.h"

static int rank, size;

static void swapped(MPI_File file) {
  const int number = 0x01020304 + rank;
  int back = 0;
  MPI_Offset position = -1;
  CHECK_MPI(MPI_File_write_at(file, rank * 4, "abcd", 4, MPI_BYTE, MPI_STATUS_IGNORE));
  const int code =
      MPI_File_set_view(file, (MPI_Offset)size * 4, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL);
  if (code != MPI_SUCCESS) return;
  CHECK_MPI(MPI_File_seek(file, rank, MPI_SEEK_SET));
  CHECK_MPI(MPI_File_write(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_get_position(file, &position));
  CHECK(position == rank + 1);
  CHECK_MPI(MPI_File_read_at_all(file, rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(back == number);
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  unsigned char bytes[4];
  CHECK_MPI(MPI_File_read_at(file, (MPI_Offset)size * 4 + rank * 4, bytes, 4, MPI_BYTE,
                             MPI_STATUS_IGNORE));
  CHECK(bytes[0] == 1 && bytes[1] == 2 && bytes[2] == 3 && bytes[3] == 4 + rank);
  CHECK_MPI(MPI_File_read_at(file, (size - 1 - rank) * 4, bytes, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(bytes, "abcd", 4) == 0);
  char datarep[MPI_MAX_DATAREP_STRING];
  MPI_Datatype etype, filetype;
  MPI_Offset displacement;
  CHECK_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, datarep));
  CHECK(displacement == 0 && etype == MPI_BYTE && strcmp(datarep, "native") == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/representations", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  swapped(file);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
