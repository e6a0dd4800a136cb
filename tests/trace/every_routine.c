// Calls every MPI-IO routine that a trace records, and writes what the trace must contain: a line
// per call, "ROUTINE POSITION REQUESTED MOVED", in data bytes of the view. POSITION is "shared" if
// other ranks move the pointer, too. Argument: FILE. Each rank writes its lines to
// FILE.expected.RANK.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

enum { INTS = 4, BYTES = INTS * (int)sizeof(int), FILLED = 1 << 16 };

static FILE* expected;
static MPI_File file;
static int buffer[INTS];
static long long individual;  // pointer, in ints

static void line(const char* routine, const char* position, long long bytes) {
  fprintf(expected, "MPI_File_%s %s %lld %lld\n", routine, position, bytes, bytes);
}

static void line_at(const char* routine, long long position, long long bytes) {
  char text[32];
  snprintf(text, sizeof text, "%lld", position);
  line(routine, text, bytes);
}

static void moved(const char* routine) {
  if (strstr(routine, "shared") != NULL || strstr(routine, "ordered") != NULL) {
    line(routine, "shared", BYTES);
  } else {
    line_at(routine, individual * (long long)sizeof(int), BYTES);
    individual += INTS;
  }
}

// A data access at a given offset, at the pointer, and both by request or split.
#define AT(name, offset)                                                              \
  CHECK_MPI(MPI_File_##name(file, offset, buffer, INTS, MPI_INT, MPI_STATUS_IGNORE)); \
  line_at(#name, (long long)(offset) * (long long)sizeof(int), BYTES)
#define HERE(name)                                                            \
  CHECK_MPI(MPI_File_##name(file, buffer, INTS, MPI_INT, MPI_STATUS_IGNORE)); \
  moved(#name)
#define I_AT(name, offset)                                                   \
  CHECK_MPI(MPI_File_##name(file, offset, buffer, INTS, MPI_INT, &request)); \
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));                          \
  line_at(#name, (long long)(offset) * (long long)sizeof(int), BYTES)
#define I_HERE(name)                                                 \
  CHECK_MPI(MPI_File_##name(file, buffer, INTS, MPI_INT, &request)); \
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));                  \
  moved(#name)
#define SPLIT_AT(name, offset)                                                  \
  CHECK_MPI(MPI_File_##name##_begin(file, offset, buffer, INTS, MPI_INT));      \
  line_at(#name "_begin", (long long)(offset) * (long long)sizeof(int), BYTES); \
  CHECK_MPI(MPI_File_##name##_end(file, buffer, MPI_STATUS_IGNORE));            \
  line_at(#name "_end", 0, 0)
#define SPLIT(name)                                                  \
  CHECK_MPI(MPI_File_##name##_begin(file, buffer, INTS, MPI_INT));   \
  moved(#name "_begin");                                             \
  CHECK_MPI(MPI_File_##name##_end(file, buffer, MPI_STATUS_IGNORE)); \
  line_at(#name "_end", 0, 0)

static void access_everywhere(void) {
  MPI_Request request;
  AT(write_at, 100);
  AT(read_at, 100);
  AT(write_at_all, 104);
  AT(read_at_all, 104);
  HERE(write);
  HERE(read);
  HERE(write_all);
  HERE(read_all);
  HERE(write_shared);
  HERE(read_shared);
  HERE(write_ordered);
  HERE(read_ordered);
  I_AT(iwrite_at, 108);
  I_AT(iread_at, 108);
  I_AT(iwrite_at_all, 112);
  I_AT(iread_at_all, 112);
  I_HERE(iwrite);
  I_HERE(iread);
  I_HERE(iwrite_all);
  I_HERE(iread_all);
  I_HERE(iwrite_shared);
  I_HERE(iread_shared);
  SPLIT_AT(write_at_all, 116);
  SPLIT_AT(read_at_all, 116);
  SPLIT(write_all);
  SPLIT(read_all);
  SPLIT(write_ordered);
  SPLIT(read_ordered);
#ifdef LARGE_COUNT
  AT(write_at_c, 120);
  HERE(read_c);
  I_AT(iread_at_c, 120);
  SPLIT_AT(write_at_all, 124);
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CHECK(argc == 2);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char name[4096];
  snprintf(name, sizeof name, "%s.expected.%d", argv[1], rank);
  expected = fopen(name, "w");
  CHECK(expected != NULL);

  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  line_at("open", 0, 0);
  CHECK_MPI(MPI_File_set_size(file, 100));
  fprintf(expected, "MPI_File_set_size 100 0 0\n");
  CHECK_MPI(MPI_File_preallocate(file, FILLED));
  fprintf(expected, "MPI_File_preallocate %d 0 0\n", FILLED);

  // Ranks interleave blocks of two ints.
  MPI_Datatype strided;
  CHECK_MPI(MPI_Type_vector(8, 2, 2 * ranks, MPI_INT, &strided));
  CHECK_MPI(MPI_Type_commit(&strided));
  const MPI_Offset displacement = rank * 2 * (MPI_Offset)sizeof(int);
  CHECK_MPI(MPI_File_set_view(file, displacement, MPI_INT, strided, "native", MPI_INFO_NULL));
  fprintf(expected, "MPI_File_set_view %lld 0 0\n", (long long)displacement);
  CHECK_MPI(MPI_Type_free(&strided));
  AT(write_at, 3);
  AT(read_at, 3);
  HERE(write_all);
  CHECK_MPI(MPI_File_sync(file));
  line_at("sync", 0, 0);

  CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  fprintf(expected, "MPI_File_set_view 0 0 0\n");
  CHECK_MPI(MPI_File_seek(file, 7, MPI_SEEK_SET));
  fprintf(expected, "MPI_File_seek 7 0 0\n");
  individual = 7;
  CHECK_MPI(MPI_File_seek_shared(file, 9, MPI_SEEK_SET));
  fprintf(expected, "MPI_File_seek_shared 9 0 0\n");
  access_everywhere();

  // Beyond the end of the file: fewer bytes are moved than requested.
  MPI_Offset size;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_get_size(file, &size));
  const MPI_Offset last = size / (MPI_Offset)sizeof(int) - 1;
  CHECK_MPI(MPI_File_read_at(file, last, buffer, INTS, MPI_INT, MPI_STATUS_IGNORE));
  fprintf(expected, "MPI_File_read_at %lld %d %d\n", (long long)last * (long long)sizeof(int),
          BYTES, (int)sizeof(int));
  CHECK_MPI(MPI_File_set_atomicity(file, 1));
  fprintf(expected, "MPI_File_set_atomicity 1 0 0\n");
  AT(write_at, 128);
  CHECK_MPI(MPI_File_close(&file));
  line_at("close", 0, 0);
  fclose(expected);
  MPI_Finalize();
  return 0;
}
