// Calls that must leave the file pointers where they are: the atomic mode switched on and off, a
// view that is refused; and an open for appending, which must find what another handle has written
// and not synced. Caches of their own know nothing of each other before a sync.
//
// not under: process nodes job guests
#include <string.h>

#include "check.h"

enum { kBytes = 100 };

static int rank, size;

static void expect_pointers(MPI_File file, MPI_Offset shared, MPI_Offset individual) {
  MPI_Offset found = -1;
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_get_position_shared(file, &found));
  CHECK(found == shared);
  CHECK_MPI(MPI_File_get_position(file, &found));
  CHECK(found == individual);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  CHECK_MPI(MPI_Init(&argc, &argv));
  CHECK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  CHECK_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  char name[4096];
  snprintf(name, sizeof name, "%s/kept", argv[1]);
  unsigned char memory[kBytes];
  MPI_File file, appending;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  const MPI_Offset whole = (MPI_Offset)size * kBytes;
  fill_bytes(memory, rank * kBytes, kBytes);
  CHECK_MPI(MPI_File_write_ordered(file, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_read_at(file, rank * kBytes, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(wrong_bytes(memory, rank * kBytes, kBytes) == 0);
  CHECK_MPI(MPI_File_seek(file, 7, MPI_SEEK_SET));
  for (int on = 1; on >= 0; --on) {
    CHECK_MPI(MPI_File_set_atomicity(file, on));
    expect_pointers(file, whole, 7);
  }
  CHECK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "no such representation", MPI_INFO_NULL) !=
        MPI_SUCCESS);
  expect_pointers(file, whole, 7);
  fill_bytes(memory, whole + rank * kBytes, kBytes);
  CHECK_MPI(MPI_File_write_ordered(file, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));

  // POSIX visibility, which Forebay keeps: what was written is seen.
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL,
                          &appending));
  expect_pointers(appending, 2 * whole, 2 * whole);
  fill_bytes(memory, 2 * whole + rank * kBytes, kBytes);
  CHECK_MPI(MPI_File_write_ordered(appending, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_close(&appending));
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  FILE* const left = fopen(name, "rb");
  CHECK(left != NULL);
  for (MPI_Offset at = 0; at < 3 * whole; at += kBytes) {
    CHECK(fread(memory, kBytes, 1, left) == 1);
    CHECK(wrong_bytes(memory, at, kBytes) == 0);
  }
  CHECK(fgetc(left) == EOF);
  fclose(left);
  CHECK_MPI(MPI_Finalize());
  return 0;
}
