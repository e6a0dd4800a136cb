// ranks: 1 2 4
// What a close of a file left is what the next open finds, whoever opens it and whatever happened
// to the file in between: random steps, in which all ranks, half of them, one or each alone write,
// by MPI or by POSIX, cut the file or replace it. After each step all ranks read all of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

enum { kPieces = 48, kSteps = 120 };

static int rank, size;
static char path[4096], other[4100];
static int64_t piece_bytes = 3000;
static int version[kPieces];  // of each piece; 0: zeros
static int pieces;            // that the file has
static uint64_t state = 20261128;

static int draw(int below) {  // the same on all ranks
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((state >> 33) % (uint64_t)below);
}

static void content(int piece, int of_version, unsigned char* memory) {
  if (of_version == 0)
    memset(memory, 0, (size_t)piece_bytes);
  else
    fill_bytes(memory, of_version * 1000003ll + piece * piece_bytes, piece_bytes);
}

static void write_piece(MPI_File file, int piece, int of_version) {
  unsigned char memory[16384];
  content(piece, of_version, memory);
  CHECK_MPI(MPI_File_write_at(file, piece * piece_bytes, memory, (int)piece_bytes, MPI_BYTE,
                              MPI_STATUS_IGNORE));
}

// Reads all pieces, in another order on each rank.
static void verify(MPI_File file) {
  unsigned char memory[16384], expected[16384];
  MPI_Offset bytes;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  CHECK(bytes == pieces * piece_bytes);
  for (int i = 0; i < pieces; ++i) {
    const int piece = (i + rank * 7) % pieces;
    MPI_Status status;
    int got;
    CHECK_MPI(
        MPI_File_read_at(file, piece * piece_bytes, memory, (int)piece_bytes, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &got);
    CHECK(got == piece_bytes);
    content(piece, version[piece], expected);
    if (memcmp(memory, expected, (size_t)piece_bytes) != 0)
      fprintf(stderr, "rank %d: piece %d is not of version %d\n", rank, piece, version[piece]);
    CHECK(memcmp(memory, expected, (size_t)piece_bytes) == 0);
  }
}

static MPI_File open_on(MPI_Comm comm, int mode, MPI_Info info) {
  MPI_File file;
  CHECK_MPI(MPI_File_open(comm, path, mode, info, &file));
  return file;
}

// Reads all pieces, old and new ones: a cache may keep what it gets.
static void look(MPI_File file) {
  unsigned char memory[16384];
  for (int piece = 0; piece < pieces; ++piece)
    CHECK_MPI(MPI_File_read_at(file, piece * piece_bytes, memory, (int)piece_bytes, MPI_BYTE,
                               MPI_STATUS_IGNORE));
}

// The ranks of `comm`, of which this is number `mine` of `all`, write a new version of some pieces.
static void write_by(MPI_Comm comm, int mine, int all, int step, int every, MPI_Info info) {
  MPI_File file = open_on(comm, MPI_MODE_RDWR, info);
  if (step % 2 == 0) look(file);
  for (int piece = 0; piece < pieces; piece += every) {
    if (piece / every % all == mine) write_piece(file, piece, step);
  }
  if (step % 3 == 0) look(file);
  CHECK_MPI(MPI_File_close(&file));
}

static void note_written(int step, int every) {
  for (int piece = 0; piece < pieces; piece += every) version[piece] = step;
}

static void write_by_posix(const char* where, int step, int every) {
  unsigned char memory[16384];
  const int descriptor = open(where, O_WRONLY | O_CREAT, 0600);
  CHECK(descriptor >= 0);
  for (int piece = 0; piece < pieces; piece += every) {
    content(piece, step, memory);
    CHECK(pwrite(descriptor, memory, (size_t)piece_bytes, piece * piece_bytes) == piece_bytes);
  }
  CHECK(close(descriptor) == 0);
}

static void change(int step) {
  const int every = 1 + draw(4), who = draw(size);
  switch (draw(10)) {
    case 0:  // all ranks
    case 1:
      write_by(MPI_COMM_WORLD, rank, size, step, every, MPI_INFO_NULL);
      return note_written(step, every);
    case 2:  // one rank
      if (rank == who) write_by(MPI_COMM_SELF, 0, 1, step, every, MPI_INFO_NULL);
      return note_written(step, every);
    case 3: {  // half of the ranks
      MPI_Comm half;
      const int first = (size + 1) / 2;
      MPI_Comm_split(MPI_COMM_WORLD, rank < first, rank, &half);
      if (rank < first) write_by(half, rank, first, step, every, MPI_INFO_NULL);
      MPI_Comm_free(&half);
      return note_written(step, every);
    }
    case 4: {  // past any cache
      MPI_Info info;
      MPI_Info_create(&info);
      MPI_Info_set(info, "forebay_enable", "false");
      write_by(MPI_COMM_WORLD, rank, size, step, every, info);
      MPI_Info_free(&info);
      return note_written(step, every);
    }
    case 5:  // not by MPI
      if (rank == who) write_by_posix(path, step, every);
      return note_written(step, every);
    case 6:  // a new file under the name
      if (rank == who) {
        write_by_posix(other, step, 1);
        CHECK(rename(other, path) == 0);
      }
      return note_written(step, 1);
    case 7:  // cut, and perhaps extended again
      pieces = 1 + draw(kPieces);
      for (int piece = pieces; piece < kPieces; ++piece) version[piece] = 0;
      if (draw(2) == 0) {
        MPI_File file = open_on(MPI_COMM_WORLD, MPI_MODE_RDWR, MPI_INFO_NULL);
        CHECK_MPI(MPI_File_set_size(file, pieces * piece_bytes));
        CHECK_MPI(MPI_File_close(&file));
        return;
      }
      if (rank == who) CHECK(truncate(path, pieces * piece_bytes) == 0);
      if (draw(2) != 0) return;
      pieces = kPieces;
      if (rank == who) CHECK(truncate(path, pieces * piece_bytes) == 0);
      return;
    case 8:  // all ranks, each by itself
      write_by(MPI_COMM_SELF, rank, size, step, every, MPI_INFO_NULL);
      return note_written(step, every);
    default:  // nothing
      return;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  (void)argc;
  snprintf(path, sizeof path, "%s/reopened", argv[1]);
  snprintf(other, sizeof other, "%s.new", path);
  MPI_File file = open_on(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL);
  pieces = kPieces;
  for (int piece = rank; piece < pieces; piece += size) write_piece(file, piece, 1);
  CHECK_MPI(MPI_File_close(&file));
  note_written(1, 1);
  for (int step = 2; step < kSteps; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    change(step);
    MPI_Barrier(MPI_COMM_WORLD);
    const int alone = draw(5) == 0;
    file = open_on(alone ? MPI_COMM_SELF : MPI_COMM_WORLD,
                   draw(3) == 0 ? MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL);
    verify(file);
    CHECK_MPI(MPI_File_close(&file));
  }
  MPI_Finalize();
  return 0;
}
