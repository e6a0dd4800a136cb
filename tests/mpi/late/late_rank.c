// One rank comes late to a collective call that commits: late_rank FOLDER CALL MILLISECONDS. Ranks
// 2k and 2k + 1 together fill a part of the file with interleaved records, the odd ranks so many
// milliseconds after the even ones. Then all ranks make the call and close the file.
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { RECORDS = 5000, RECORD = 300 };

static int rank, ranks;

static void write_records(MPI_File file) {
  unsigned char record[RECORD];
  for (int i = 0; i < RECORDS; ++i) {
    const MPI_Offset at = (((MPI_Offset)(rank / 2) * RECORDS + i) * 2 + rank % 2) * RECORD;
    fill_bytes(record, at, RECORD);
    CHECK_MPI(MPI_File_write_at(file, at, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

// A collective access beyond the records, through the shared pointer.
static void write_ordered(MPI_File file) {
  unsigned char record[RECORD];
  const MPI_Offset end = (MPI_Offset)ranks * RECORDS * RECORD;
  fill_bytes(record, end + (MPI_Offset)rank * RECORD, RECORD);
  CHECK_MPI(MPI_File_write_ordered(file, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void make_call(MPI_File file, const char* name) {
  if (strcmp(name, "sync") == 0) {
    CHECK_MPI(MPI_File_sync(file));
  } else if (strcmp(name, "preallocate") == 0) {
    CHECK_MPI(MPI_File_preallocate(file, RECORD));
  } else if (strcmp(name, "set_view") == 0) {  // a view that only the library knows
    CHECK_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  } else if (strcmp(name, "set_atomicity") == 0) {
    CHECK_MPI(MPI_File_set_atomicity(file, 1));
  } else if (strcmp(name, "seek_shared") == 0) {
    CHECK_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  } else if (strcmp(name, "write_ordered") == 0) {
    write_ordered(file);
  } else {
    CHECK(strcmp(name, "close") == 0);
  }
}

int main(int argc, char** argv) {
  CHECK(argc == 4);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char path[4096];
  snprintf(path, sizeof path, "%s/records", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  if (strcmp(argv[2], "write_ordered") == 0)
    CHECK_MPI(MPI_File_seek_shared(file, (MPI_Offset)ranks * RECORDS * RECORD, MPI_SEEK_SET));
  if (rank % 2 == 1) usleep(1000 * (useconds_t)atoi(argv[3]));
  write_records(file);
  make_call(file, argv[2]);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
