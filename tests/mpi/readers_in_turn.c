// Ranks read records that alternate, each its own in calls of its own, at different speeds: what is
// fetched ahead is fetched for all of them. The first rank stops on its way, and another one leaves
// records out. Then the records change while they are fetched ahead.
// not under: small-pages
#include <time.h>

#include "check.h"

enum { kRecord = 100000, kRecords = 60 };

static int rank, ranks;
static unsigned char record[kRecord];

static MPI_Offset place(int i) { return (MPI_Offset)kRecord * (i * ranks + rank); }

static void read_record(MPI_File file, int i, int generation) {
  CHECK_MPI(MPI_File_read_at(file, place(i), record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(wrong_bytes(record, place(i) + generation, kRecord) == 0);
}

static void write_record(MPI_File file, int i, int generation) {
  fill_bytes(record, place(i) + generation, kRecord);
  CHECK_MPI(MPI_File_write_at(file, place(i), record, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void sync_all(MPI_File file) {
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
}

int main(int argc, char** argv) {
  CHECK_MPI(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, "records", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  for (int i = 0; i < kRecords; ++i) write_record(file, i, 0);
  CHECK_MPI(MPI_File_close(&file));

  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, "records", MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  for (int i = 0; i < kRecords; ++i) {
    if (rank == 0 && i == kRecords / 2) break;
    if (rank == 1 && i % 20 == 13) i += 3;
    if (rank == ranks - 1 && i % 10 == 0) nanosleep(&(struct timespec){0, 3000000}, NULL);
    read_record(file, i, 0);
  }
  for (int i = kRecords - 1; i >= 0; --i) read_record(file, i, 0);
  sync_all(file);
  // What is fetched ahead of the first half lies in the second one.
  for (int i = 0; i < kRecords / 2; ++i) read_record(file, i, 0);
  for (int i = kRecords / 2; i < kRecords; ++i) write_record(file, i, 1);
  sync_all(file);
  for (int i = 0; i < kRecords; ++i) read_record(file, i, i >= kRecords / 2);
  // Another rank's records.
  rank = (rank + 1) % ranks;
  for (int i = 0; i < kRecords; ++i) read_record(file, i, i >= kRecords / 2);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
