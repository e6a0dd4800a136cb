// Sizes (MPI 4.1, sections 14.2.4 to 14.2.6): truncated and extended files, bytes beyond the end,
// deletion.
#include <string.h>
#include <sys/stat.h>

#include "check.h"

enum { kPart = 300 };

static int rank, size;

// Afterwards each rank sees all earlier writes (MPI 4.1, section 14.6.1).
static void see_all(MPI_File file) {
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
}

static MPI_Offset size_of(MPI_File file) {
  MPI_Offset bytes = -1;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  return bytes;
}

static void cut_and_grow(MPI_File file) {
  unsigned char memory[kPart];
  fill_bytes(memory, rank * kPart, kPart);
  CHECK_MPI(MPI_File_write_at(file, (MPI_Offset)rank * kPart, memory, kPart, MPI_BYTE,
                              MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_set_size(file, 100));
  CHECK(size_of(file) == 100);
  MPI_Barrier(MPI_COMM_WORLD);
  // Truncated bytes are gone, even if they had not reached storage, and now read as zeros.
  CHECK_MPI(MPI_File_set_size(file, 400));
  CHECK(size_of(file) == 400);
  see_all(file);
  unsigned char back[500];
  MPI_Status status;
  int count;
  memset(back, 9, sizeof back);
  CHECK_MPI(MPI_File_read_at(file, 0, back, 500, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 400);
  CHECK(wrong_bytes(back, 0, 100) == 0);
  for (int i = 100; i < 400; ++i) CHECK(back[i] == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_File_set_size(file, -1) != MPI_SUCCESS);
}

static void preallocated(MPI_File file) {
  CHECK_MPI(MPI_File_preallocate(file, 2000));
  CHECK(size_of(file) == 2000);
  CHECK_MPI(MPI_File_preallocate(file, 50));
  CHECK(size_of(file) == 2000);
  unsigned char back[100];
  CHECK_MPI(MPI_File_read_at(file, 0, back, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(wrong_bytes(back, 0, 100) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void read_beyond_the_end(MPI_File file) {
  unsigned char back[10];
  MPI_Status status;
  int count;
  CHECK_MPI(MPI_File_read_at(file, 2000, back, 10, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 0);
  CHECK_MPI(MPI_File_read_at(file, 1995, back, 10, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 5);
}

static void deleted_on_close(const char* path) {
  MPI_File file;
  struct stat found;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path,
                          MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                          &file));
  CHECK_MPI(MPI_File_write_at(file, rank, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(stat(path, &found) != 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

// After each deletion the same name is a new file.
static void deleted_and_made_again(const char* path) {
  for (int round = 0; round < 4; ++round) {
    MPI_File file;
    unsigned char back[kPart];
    CHECK_MPI(
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    CHECK(size_of(file) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    fill_bytes(back, round * 1000, kPart);
    CHECK_MPI(MPI_File_write_at(file, 0, back, kPart - round, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_close(&file));
    if (rank == 0) {
      struct stat found;
      CHECK(stat(path, &found) == 0 && found.st_size == kPart - round);
      CHECK_MPI(MPI_File_delete(path, MPI_INFO_NULL));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/sizes", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  cut_and_grow(file);
  preallocated(file);
  read_beyond_the_end(file);
  CHECK_MPI(MPI_File_close(&file));
  deleted_on_close(path);
  deleted_and_made_again(path);
  MPI_Finalize();
  return 0;
}
