// The order of collective accesses of ranks with one cache or owners (PnetCDF relies on it): a rank
// comes late to a collective access. What it writes before, by itself, lies below what the others
// write after the access, and is seen by what they read after it.
//
// ranks: 4
// not under: plain process nodes
#include <unistd.h>

#include "check.h"

enum { kBytes = 3000, kCalls = 6 };

static int rank;
static unsigned char memory[kBytes];

static unsigned char value_of(int call, int writer) {
  return (unsigned char)(1 + 7 * call + writer);
}

static void write_by_itself(MPI_File file, int call) {
  memset(memory, value_of(call, rank), kBytes);
  CHECK_MPI(MPI_File_write_at(file, 0, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

// A collective access of one kind or another, elsewhere in the file.
static void meet(MPI_File file, int call) {
  const MPI_Offset elsewhere = 100000 + 100 * (MPI_Offset)rank;
  char bytes[100];
  memset(bytes, rank, sizeof bytes);
  switch (call % 3) {
    case 0:
      CHECK_MPI(
          MPI_File_write_at_all(file, elsewhere, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      break;
    case 1:
      CHECK_MPI(
          MPI_File_read_at_all(file, elsewhere, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      break;
    default:
      CHECK_MPI(MPI_File_write_at_all(file, elsewhere, bytes, 0, MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/late", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  for (int call = 0; call < kCalls; ++call) {
    const int late = size - 1 - call % 2, early = 0;  // on the other node, or on the same
    if (rank == late) {
      usleep(100000);
      write_by_itself(file, call);
    }
    meet(file, call);
    if (rank == early) {
      if (call % 2 == 0) {
        memset(memory, 0, kBytes);
        CHECK_MPI(MPI_File_read_at(file, 0, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
        for (int i = 0; i < kBytes; ++i) CHECK(memory[i] == value_of(call, late));
      }
      write_by_itself(file, call);
    }
    CHECK_MPI(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_sync(file));
    CHECK_MPI(MPI_File_read_at(file, 0, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < kBytes; ++i) CHECK(memory[i] == value_of(call, early));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
