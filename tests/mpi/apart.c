// ranks: 1 2 4
// not under: process nodes job guests mpi-storage
// plain fails with: mpich-debian
// A file has one content for all ranks, whoever has it open: each rank by itself, a group of ranks,
// or all of them, for reading or also for writing. Random steps, one after the other in all ranks:
// handles are opened and closed, and pieces are written and read. Each read finds what was written
// before, on any rank and through any handle, without a sync.
#include "check.h"

enum { kPieces = 24, kSteps = 1500, kHandles = 3, kPieceBytes = 1777, kFiles = 2 };

static int rank, size;
static uint64_t state = 20261129;

static int draw(int below) {  // the same on all ranks
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (int)((state >> 33) % (uint64_t)below);
}

// Who opens a handle together.
enum { kAlone, kHalves, kOddAndEven, kAll, kKinds };
static MPI_Comm comms[kKinds];

// The handles of a rank; those of all ranks are opened and closed in the same steps.
typedef struct {
  int open, kind, file, writes;
  int opened_by;  // kAlone: this rank only; -1: every rank
  MPI_File handle;
} Handle;
static Handle handles[kHandles];

static int version[kFiles][kPieces];  // 0: zeros, or behind the end of the file
static int end_piece[kFiles];
static char paths[kFiles][4096];

static int is_opener(const Handle* h, int r) { return h->opened_by < 0 || h->opened_by == r; }

static void content(int file, int piece, int of_version, unsigned char* memory) {
  if (of_version == 0)
    memset(memory, 0, kPieceBytes);
  else
    fill_bytes(memory, of_version * 1000003ll + piece * kPieceBytes + file * 77, kPieceBytes);
}

static void open_handle(Handle* h) {
  h->kind = draw(kKinds);
  h->file = draw(kFiles);
  h->writes = draw(3) != 0;
  h->opened_by = h->kind == kAlone && draw(2) ? draw(size) : -1;
  h->open = 1;
  if (!is_opener(h, rank)) return;
  CHECK_MPI(MPI_File_open(comms[h->kind], paths[h->file],
                          h->writes ? MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL, &h->handle));
}

static void close_handle(Handle* h) {
  if (is_opener(h, rank)) CHECK_MPI(MPI_File_close(&h->handle));
  h->open = 0;
}

static void write_pieces(Handle* h, int step, int who) {
  const int first = draw(kPieces), count = 1 + draw(3),
            collective = h->opened_by < 0 && draw(4) == 0;
  unsigned char memory[3 * kPieceBytes];
  int written = 0;
  for (int piece = first; piece < first + count && piece < kPieces; ++piece, ++written) {
    content(h->file, piece, step, memory + written * kPieceBytes);
    version[h->file][piece] = step;
    if (piece >= end_piece[h->file]) end_piece[h->file] = piece + 1;
  }
  const MPI_Offset at = (MPI_Offset)first * kPieceBytes;
  if (collective)
    CHECK_MPI(MPI_File_write_at_all(h->handle, at, memory, rank == who ? written * kPieceBytes : 0,
                                    MPI_BYTE, MPI_STATUS_IGNORE));
  else if (rank == who)
    CHECK_MPI(MPI_File_write_at(h->handle, at, memory, written * kPieceBytes, MPI_BYTE,
                                MPI_STATUS_IGNORE));
}

static void read_piece(Handle* h, int step, int piece, int collective) {
  unsigned char memory[kPieceBytes], expected[kPieceBytes];
  MPI_Status status;
  int got;
  const MPI_Offset at = (MPI_Offset)piece * kPieceBytes;
  if (collective)
    CHECK_MPI(MPI_File_read_at_all(h->handle, at, memory, kPieceBytes, MPI_BYTE, &status));
  else
    CHECK_MPI(MPI_File_read_at(h->handle, at, memory, kPieceBytes, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &got);
  CHECK(got == (piece < end_piece[h->file] ? kPieceBytes : 0));
  content(h->file, piece, version[h->file][piece], expected);
  if (memcmp(memory, expected, (size_t)got) != 0)
    fprintf(stderr, "step %d, rank %d: piece %d of file %d is not of version %d\n", step, rank,
            piece, h->file, version[h->file][piece]);
  CHECK(memcmp(memory, expected, (size_t)got) == 0);
}

static void step_with(Handle* h, int step) {
  if (h->writes && draw(2) == 0) {
    int who = draw(size);
    if (!is_opener(h, who)) who = h->opened_by;
    return write_pieces(h, step, who);
  }
  const int first = draw(kPieces), collective = h->opened_by < 0 && draw(4) == 0;
  if (!is_opener(h, rank)) return;
  for (int i = 0; i < 4; ++i) read_piece(h, step, (first + rank + i * 5) % kPieces, collective);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2) state = strtoull(argv[2], NULL, 10);
  comms[kAlone] = MPI_COMM_SELF;
  comms[kAll] = MPI_COMM_WORLD;
  MPI_Comm_split(MPI_COMM_WORLD, rank < (size + 1) / 2, rank, &comms[kHalves]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comms[kOddAndEven]);
  for (int file = 0; file < kFiles; ++file) {
    snprintf(paths[file], sizeof paths[file], "%s/apart-%d", argv[1], file);
    MPI_File made;
    CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, paths[file], MPI_MODE_CREATE | MPI_MODE_RDWR,
                            MPI_INFO_NULL, &made));
    CHECK_MPI(MPI_File_close(&made));
  }
  for (int step = 1; step < kSteps; ++step) {
    MPI_Barrier(MPI_COMM_WORLD);
    Handle* const h = &handles[draw(kHandles)];
    const int changes = draw(8) == 0;
    if (!h->open)
      open_handle(h);
    else if (changes)
      close_handle(h);
    else
      step_with(h, step);
  }
  for (int i = 0; i < kHandles; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (handles[i].open) close_handle(&handles[i]);
  }
  MPI_Comm_free(&comms[kHalves]);
  MPI_Comm_free(&comms[kOddAndEven]);
  MPI_Finalize();
  return 0;
}
