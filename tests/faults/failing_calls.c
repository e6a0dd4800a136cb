// A program whose storage calls are made to fail (by strace). The right call reports each failure,
// on every rank if the call is collective, with its class, the file, the offset and the cause.
//
//   failing_calls FILE SCENE CLASS CAUSE: CLASS is one of "quota", "space", "io", "none".
//
// SCENE: once (the next sync succeeds), for-ever (syncs and the close fail), direct (a write past
// the cache fails itself, on rank 0), flush (a failed fsync: no later sync succeeds), read (a read
// fails on rank 0, the next one does not), interrupted (nothing fails).
#include <string.h>

#include "check.h"

enum { kRecord = 300, kRecords = 2000, kLarge = 2 << 20 };

static const char *path, *cause;
static int rank, size, expected;
static MPI_File file;

static int class_named(const char* name) {
  if (strcmp(name, "quota") == 0) return MPI_ERR_QUOTA;
  if (strcmp(name, "space") == 0) return MPI_ERR_NO_SPACE;
  return strcmp(name, "io") == 0 ? MPI_ERR_IO : MPI_SUCCESS;
}

// The error on the rank whose call failed says where; other ranks know only the class.
static void check_error(int code, int met_here, int has_offset) {
  int found = MPI_SUCCESS, length;
  char text[MPI_MAX_ERROR_STRING] = "";
  CHECK_MPI(MPI_Error_class(code, &found));
  CHECK_MPI(MPI_Error_string(code, text, &length));
  const int right = found == expected && strstr(text, path) != NULL &&
                    (!met_here || strstr(text, cause) != NULL) &&
                    (!met_here || !has_offset || strstr(text, " at offset ") != NULL);
  if (!right) fprintf(stderr, "rank %d: class %d, not %d: %s\n", rank, found, expected, text);
  CHECK(right);
}

static void write_records(void) {
  unsigned char record[kRecord];
  for (int i = 0; i < kRecords; ++i) {
    const MPI_Offset offset = ((MPI_Offset)i * size + rank) * kRecord;
    fill_bytes(record, offset, kRecord);
    CHECK_MPI(MPI_File_write_at(file, offset, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

static void check_file(void) {
  unsigned char content[kRecord];
  FILE* stored = fopen(path, "rb");
  CHECK(stored != NULL);
  for (MPI_Offset at = 0; at < (MPI_Offset)kRecords * size * kRecord; at += kRecord) {
    CHECK(fread(content, kRecord, 1, stored) == 1);
    CHECK(wrong_bytes(content, at, kRecord) == 0);
  }
  fclose(stored);
}

static void fail_once(void) {
  write_records();
  check_error(MPI_File_sync(file), 1, 1);
  CHECK_MPI(MPI_File_sync(file));
  check_file();
  CHECK_MPI(MPI_File_close(&file));
}

static void fail_for_ever(void) {
  write_records();
  for (int i = 0; i < 3; ++i) check_error(MPI_File_sync(file), 1, 1);
  check_error(MPI_File_close(&file), 1, 1);
  CHECK(file == MPI_FILE_NULL);
}

static void fail_past_the_cache(void) {
  static unsigned char large[kLarge];
  if (rank == 0) {
    check_error(MPI_File_write_at(file, 0, large, kLarge, MPI_BYTE, MPI_STATUS_IGNORE), 1, 1);
    CHECK_MPI(MPI_File_write_at(file, 0, large, kLarge, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_File_close(&file));
}

static void fail_to_flush(void) {
  write_records();
  for (int i = 0; i < 3; ++i) {
    check_error(MPI_File_sync(file), 1, 0);
    check_file();
    write_records();
  }
  CHECK_MPI(MPI_File_close(&file));
}

static void fail_to_read(void) {
  unsigned char record[kRecord];
  if (rank == 0) {
    check_error(MPI_File_read_at(file, 0, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE), 1, 1);
    CHECK_MPI(MPI_File_read_at(file, 0, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(record, 0, kRecord) == 0);
  }
  CHECK_MPI(MPI_File_close(&file));
}

static void be_interrupted(void) {
  unsigned char record[kRecord];
  write_records();
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_File_read_at(file, 0, record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(wrong_bytes(record, 0, kRecord) == 0);
  CHECK_MPI(MPI_File_close(&file));
  check_file();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* const scene = argv[2];
  path = argv[1];
  expected = class_named(argv[3]);
  cause = argv[4];
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  if (strcmp(scene, "once") == 0) fail_once();
  if (strcmp(scene, "for-ever") == 0) fail_for_ever();
  if (strcmp(scene, "direct") == 0) fail_past_the_cache();
  if (strcmp(scene, "flush") == 0) fail_to_flush();
  if (strcmp(scene, "read") == 0) fail_to_read();
  if (strcmp(scene, "interrupted") == 0) be_interrupted();
  MPI_Finalize();
  return 0;
}
