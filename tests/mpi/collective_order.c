// The order of collective calls, on which PnetCDF and others rely though the standard promises it
// only after a sync: what any rank wrote before a collective call lies below what any rank writes
// after it, and is seen by what any rank reads after it.
//
// not under: nodes process
#include "check.h"

enum { kRecord = 300, kRecords = 400, kRounds = 6 };

static int rank, size;
static unsigned char memory[kRecord];

// Fills the record as rank `writer` does in `round`.
static void fill(int record, int writer, int round) {
  fill_bytes(memory, (MPI_Offset)record * kRecord + 7919 * (MPI_Offset)(round * 31 + writer),
             kRecord);
}

static void check(MPI_File file, int record, int writer, int round) {
  MPI_Status status;
  int count;
  memset(memory, 0, kRecord);
  CHECK_MPI(
      MPI_File_read_at(file, (MPI_Offset)record * kRecord, memory, kRecord, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == kRecord);
  CHECK(wrong_bytes(memory, (MPI_Offset)record * kRecord + 7919 * (MPI_Offset)(round * 31 + writer),
                    kRecord) == 0);
}

// A collective call on the file, of another kind in each round.
static void meet(MPI_File file, int round) {
  MPI_Offset bytes;
  char nothing = 0;
  switch (round % kRounds) {
    case 0:
      CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
      break;
    case 1:
      CHECK_MPI(MPI_File_read_at_all(file, 0, &nothing, 0, MPI_BYTE, MPI_STATUS_IGNORE));
      break;
    case 2:
      CHECK_MPI(MPI_File_write_at_all(file, 0, &nothing, 0, MPI_BYTE, MPI_STATUS_IGNORE));
      break;
    case 3:
      CHECK_MPI(MPI_File_sync(file));
      break;
    case 4:
      bytes = (MPI_Offset)kRecords * kRecord;
      CHECK_MPI(MPI_File_set_size(file, bytes));
      break;
    default:
      CHECK_MPI(MPI_File_preallocate(file, 10));
  }
  MPI_Barrier(MPI_COMM_WORLD);  // a collective access need not wait for the other ranks
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/order", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  for (int round = 0; round < 2 * kRounds; ++round) {
    // Interleaved records; another rank's than in the round before, so that each is overwritten.
    for (int r = (rank + round) % size; r < kRecords; r += size) {
      fill(r, rank, 2 * round);
      CHECK_MPI(MPI_File_write_at(file, (MPI_Offset)r * kRecord, memory, kRecord, MPI_BYTE,
                                  MPI_STATUS_IGNORE));
    }
    meet(file, round);
    // Every third record again, by a neighbour, above what was there.
    for (int r = (rank + round + 1) % size; r < kRecords; r += size) {
      if (r % 3 != 0) continue;
      fill(r, rank, 2 * round + 1);
      CHECK_MPI(MPI_File_write_at(file, (MPI_Offset)r * kRecord, memory, kRecord, MPI_BYTE,
                                  MPI_STATUS_IGNORE));
    }
    meet(file, round + 1);
    for (int r = 0; r < kRecords; ++r) {
      int first = ((r - round) % size + size) % size,
          second = ((r - round - 1) % size + size) % size;
      if (r % 3 != 0)
        check(file, r, first, 2 * round);
      else
        check(file, r, second, 2 * round + 1);
    }
    meet(file, round + 2);  // before the next round overwrites what others read
  }
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
