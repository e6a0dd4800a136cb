// Atomic mode (MPI 4.1, section 14.6.1): accesses are seen whole, in one order, at once. All ranks
// write the same bytes of several pages; a reader sees those of a single rank. (Open MPI 4.1.4
// sometimes mixes two ranks' bytes.)
// plain fails with: openmpi-debian
#include "check.h"

enum { kBytes = 150000, kRounds = 12 };

static int rank, size;

static void whole_records(MPI_File file) {
  static unsigned char memory[kBytes];
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kBytes; ++i) memory[i] = (unsigned char)(1 + rank);
    CHECK_MPI(MPI_File_write_at(file, 1000, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read_at(file, 1000, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 1; i < kBytes; ++i) CHECK(memory[i] == memory[0]);
    CHECK(memory[0] >= 1 && memory[0] <= size);
  }
}

// One access in pieces with gaps is atomic, too.
static void whole_accesses_of_a_view(MPI_File file) {
  enum { kPieces = 500 };
  MPI_Datatype filetype;
  MPI_Type_vector(kPieces, 8, 32, MPI_BYTE, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_MPI(MPI_File_set_view(file, 500000, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  unsigned char memory[8 * kPieces];
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 8 * kPieces; ++i) memory[i] = (unsigned char)(1 + rank);
    CHECK_MPI(MPI_File_write_at(file, 0, memory, 8 * kPieces, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_MPI(MPI_File_read_at(file, 0, memory, 8 * kPieces, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 1; i < 8 * kPieces; ++i) CHECK(memory[i] == memory[0]);
  }
  MPI_Type_free(&filetype);
}

// Without a sync: bytes written before a message was sent are seen after it was received.
static void at_once(MPI_File file) {
  unsigned char byte = 0;
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  for (int round = 1; round < 50; ++round) {
    byte = (unsigned char)round;
    if (round % size == rank)
      CHECK_MPI(MPI_File_write_at(file, 5, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_read_at(file, 5, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(byte == round);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/atomic", argv[1]);
  MPI_File file;
  int atomic = -1;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CHECK_MPI(MPI_File_get_atomicity(file, &atomic));
  CHECK(atomic == 0);
  // Bytes from before a change of mode stay.
  unsigned char memory[100], back[100];
  fill_bytes(memory, rank * 100, 100);
  CHECK_MPI(MPI_File_write_at(file, 900000 + rank * 100, memory, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_set_atomicity(file, 1));
  CHECK_MPI(MPI_File_get_atomicity(file, &atomic));
  CHECK(atomic == 1);
  whole_records(file);
  MPI_Barrier(MPI_COMM_WORLD);
  whole_accesses_of_a_view(file);
  MPI_Barrier(MPI_COMM_WORLD);
  at_once(file);
  CHECK_MPI(MPI_File_set_atomicity(file, 0));
  CHECK_MPI(MPI_File_get_atomicity(file, &atomic));
  CHECK(atomic == 0);
  CHECK_MPI(MPI_File_read_at(file, 900000 + rank * 100, back, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(wrong_bytes(back, rank * 100, 100) == 0);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
