// Errors (MPI 4.1, section 14.7): invalid calls are refused through the file's error handler, also
// on a single rank. They leave the file as it was, and no rank hangs.
#include "check.h"

static int rank, size, handled;

static void count_errors(MPI_File* file, int* code, ...) {
  (void)file;
  (void)code;
  ++handled;
}

// The call is refused: the handler is called once. (The call's return value then depends on the
// library.)
#define REFUSED(call)             \
  do {                            \
    const int before = handled;   \
    (void)(call);                 \
    CHECK(handled == before + 1); \
  } while (0)

static void bad_arguments(MPI_File file) {
  char memory[16] = "0123456789abcde";
  MPI_Datatype uncommitted;
  MPI_Type_vector(2, 1, 2, MPI_BYTE, &uncommitted);
  REFUSED(MPI_File_write_at(file, 0, memory, -1, MPI_BYTE, MPI_STATUS_IGNORE));
  REFUSED(MPI_File_write_at(file, 0, memory, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE));
  REFUSED(MPI_File_write_at(file, 0, memory, 1, uncommitted, MPI_STATUS_IGNORE));
  REFUSED(MPI_File_read(file, memory, -1, MPI_BYTE, MPI_STATUS_IGNORE));
  REFUSED(MPI_File_seek(file, 0, 4711));
  REFUSED(MPI_File_seek(file, -1, MPI_SEEK_SET));
  REFUSED(MPI_File_set_view(file, 0, MPI_DATATYPE_NULL, MPI_BYTE, "native", MPI_INFO_NULL));
  REFUSED(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "no such thing", MPI_INFO_NULL));
  MPI_Type_free(&uncommitted);
  MPI_Offset bytes = -1;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 0);
}

static void wrong_mode(const char* path) {
  MPI_File file;
  MPI_Errhandler handler;
  char memory[4] = {0};
  MPI_File_create_errhandler(count_errors, &handler);
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  CHECK_MPI(MPI_File_set_errhandler(file, handler));
  REFUSED(MPI_File_write_at(file, 0, memory, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  REFUSED(MPI_File_write_all(file, memory, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_close(&file));
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
  CHECK_MPI(MPI_File_set_errhandler(file, handler));
  REFUSED(MPI_File_read_at(file, 0, memory, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_close(&file));
  MPI_Errhandler_free(&handler);
}

static void failed_open(const char* folder) {
  char path[4096];
  MPI_File file = MPI_FILE_NULL;
  snprintf(path, sizeof path, "%s/no/such/folder", folder);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) != MPI_SUCCESS);
  snprintf(path, sizeof path, "%s/missing", folder);
  CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS);
  CHECK(MPI_File_delete(path, MPI_INFO_NULL) != MPI_SUCCESS);
}

static void one_rank_alone(MPI_File file) {
  char memory[8] = {0};
  if (rank == size - 1)
    REFUSED(MPI_File_write_at(file, 0, memory, -1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_write_at_all(file, rank * 8, memory, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
  MPI_Offset bytes = 0;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  CHECK(bytes == 8 * size);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/errors", argv[1]);
  MPI_File file;
  MPI_Errhandler handler, seen;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  MPI_File_create_errhandler(count_errors, &handler);
  CHECK_MPI(MPI_File_set_errhandler(file, handler));
  CHECK_MPI(MPI_File_get_errhandler(file, &seen));
  CHECK(seen == handler);
  bad_arguments(file);
  MPI_Barrier(MPI_COMM_WORLD);
  one_rank_alone(file);
  CHECK_MPI(MPI_File_call_errhandler(file, MPI_ERR_IO));
  MPI_Errhandler_free(&seen);
  MPI_Errhandler_free(&handler);
  CHECK_MPI(MPI_File_close(&file));
  wrong_mode(path);
  failed_open(argv[1]);
  MPI_Finalize();
  return 0;
}
