// A file that is open on all ranks, and meanwhile opened and closed by single ranks: which bytes
// storage has after each close, asked past the cache. Argument: the file.
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

enum { kPiece = 300, kApart = 1 << 20 };

static int rank;
static const char* path;

// Prints whether storage has the piece that a rank wrote through a handle.
static void ask(const char* when, int64_t at) {
  unsigned char stored[kPiece] = {0};
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0);
  const ssize_t got = pread(file, stored, kPiece, at);
  CHECK(close(file) == 0);
  const int whole = got == kPiece && wrong_bytes(stored, at, kPiece) == 0;
  if (rank == 0) printf("%s: %s\n", when, whole ? "stored" : "absent");
}

static void write_piece(MPI_File file, int64_t at) {
  unsigned char memory[kPiece];
  fill_bytes(memory, at, kPiece);
  CHECK_MPI(MPI_File_write_at(file, at, memory, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(argc == 2);
  path = argv[1];
  const int64_t of_all = (int64_t)(2 * rank) * kApart, of_one = of_all + kApart;
  MPI_File all, one;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &all));
  write_piece(all, of_all);
  CHECK_MPI(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &one));
  CHECK_MPI(MPI_File_close(&one));
  ask("another's piece after a close that wrote nothing", of_all);
  CHECK_MPI(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &one));
  write_piece(one, of_one);
  CHECK_MPI(MPI_File_close(&one));
  ask("own piece after a close", of_one);
  ask("another's piece after a close", of_all);
  CHECK_MPI(MPI_File_close(&all));
  MPI_Barrier(MPI_COMM_WORLD);
  ask("own piece after the last close", of_one);
  ask("another's piece after the last close", of_all);
  MPI_Finalize();
  return 0;
}
