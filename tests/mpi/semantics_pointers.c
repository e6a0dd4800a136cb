// File pointers (MPI 4.1, sections 14.4.3 and 14.4.4), and the size from which END counts: bytes
// not yet in storage belong to the file.
#include "check.h"

static int rank, size;

// Afterwards each rank sees all earlier writes (MPI 4.1, section 14.6.1).
static void see_all(MPI_File file) {
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
}

static MPI_Offset position_of(MPI_File file) {
  MPI_Offset position = -1;
  CHECK_MPI(MPI_File_get_position(file, &position));
  return position;
}

static MPI_Offset shared_position_of(MPI_File file) {
  MPI_Offset position = -1;
  CHECK_MPI(MPI_File_get_position_shared(file, &position));
  return position;
}

static void individual(MPI_File file) {
  char memory[1000] = {0};
  CHECK(position_of(file) == 0);
  CHECK_MPI(MPI_File_write(file, memory, 100 + rank, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(position_of(file) == 100 + rank);
  CHECK_MPI(MPI_File_seek(file, -rank, MPI_SEEK_CUR));
  CHECK(position_of(file) == 100);
  CHECK_MPI(MPI_File_write_at(file, 777, memory, 23, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(position_of(file) == 100);
  CHECK_MPI(MPI_File_seek(file, -1, MPI_SEEK_END));
  CHECK(position_of(file) == 799);
  CHECK(MPI_File_seek(file, -1000, MPI_SEEK_CUR) != MPI_SUCCESS);
  CHECK(MPI_File_seek(file, 0, 12345) != MPI_SUCCESS);
  CHECK(position_of(file) == 799);
  CHECK_MPI(MPI_File_seek(file, 5000, MPI_SEEK_END));
  CHECK(position_of(file) == 5800);
  MPI_Offset bytes = 0;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 800);
}

// Offsets count etypes of the view; END is the end of the view's data in the file.
static void in_a_view(MPI_File file) {
  MPI_Datatype pair;
  MPI_Type_create_resized(MPI_INT, 0, 8, &pair);
  MPI_Type_commit(&pair);
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, pair, "native", MPI_INFO_NULL));
  CHECK(position_of(file) == 0 && shared_position_of(file) == 0);
#ifdef OPEN_MPI
  CHECK_MPI(MPI_File_seek(file, 100, MPI_SEEK_SET));  // OMPIO counts the gaps, too
#else
  CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_END));
#endif
  CHECK(position_of(file) == 100);  // of 800 bytes, every other int
  MPI_Barrier(MPI_COMM_WORLD);
  int number = 7;
  CHECK_MPI(MPI_File_write(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(position_of(file) == 101);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Offset bytes = 0;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 804);
  MPI_Type_free(&pair);
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

static void shared(MPI_File file) {
  char memory[64] = {0};
  CHECK(shared_position_of(file) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_write_shared(file, memory, 10, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(shared_position_of(file) == 10 * size);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_write_ordered(file, memory, rank, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(shared_position_of(file) == 10 * size + size * (size - 1) / 2);
  CHECK(position_of(file) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_seek_shared(file, 4, MPI_SEEK_SET));
  CHECK_MPI(MPI_File_seek_shared(file, 5, MPI_SEEK_CUR));
  CHECK(shared_position_of(file) == 9);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_seek_shared(file, -4, MPI_SEEK_END));
  CHECK(shared_position_of(file) == 800);
}

static void appended(const char* path) {
  MPI_File file;
  char memory[8] = {0};
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &file));
  CHECK(position_of(file) == 804 && shared_position_of(file) == 804);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_write_ordered(file, memory, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  see_all(file);
  MPI_Offset bytes = 0;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 804 + 8 * size);
  CHECK_MPI(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/pointers", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  individual(file);
  MPI_Barrier(MPI_COMM_WORLD);
  in_a_view(file);
  shared(file);
  CHECK_MPI(MPI_File_close(&file));
  appended(path);
  MPI_Finalize();
  return 0;
}
