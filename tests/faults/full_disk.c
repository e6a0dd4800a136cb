// A full file system: sync reports it on every rank, with its class; nothing is lost; once there is
// room again, the next sync succeeds and ends the error. With "close" as second argument there is
// no second sync: the close reports the error, and the bytes wait to be recovered.
//
// full_disk DIR sync|close: DIR/ballast is a file whose removal makes room.
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { kRecord = 300, kRecords = 10000 };

static int class_of(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096], ballast[4096];
  snprintf(path, sizeof path, "%s/full", argv[1]);
  snprintf(ballast, sizeof ballast, "%s/ballast", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  unsigned char record[kRecord];
  for (int i = 0; i < kRecords; ++i) {
    const MPI_Offset offset = ((MPI_Offset)i * size + rank) * kRecord;
    fill_bytes(record, offset, kRecord);
    CHECK_MPI(MPI_File_write_at(file, offset, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  if (strcmp(argv[2], "close") == 0) {
    CHECK(class_of(MPI_File_close(&file)) == MPI_ERR_NO_SPACE);
    CHECK(file == MPI_FILE_NULL);
    MPI_Finalize();
    return 0;
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    int code = MPI_File_sync(file);
    CHECK(class_of(code) == MPI_ERR_NO_SPACE);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, path) != NULL);
  }
  // Bytes that storage has not taken can still be read.
  for (int i = 0; i < kRecords; ++i) {
    const MPI_Offset offset = ((MPI_Offset)i * size + rank) * kRecord;
    unsigned char expected[kRecord];
    fill_bytes(expected, offset, kRecord);
    CHECK_MPI(MPI_File_read_at(file, offset, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(record, expected, kRecord) == 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(unlink(ballast) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_File_close(&file));
  struct stat info;
  CHECK(stat(path, &info) == 0 && info.st_size == (off_t)kRecords * size * kRecord);
  MPI_Finalize();
  return 0;
}
