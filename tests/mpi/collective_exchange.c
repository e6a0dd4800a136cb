// Collective accesses whose bytes belong to several nodes: messages with many pieces, more than one
// window of an access, ranks that ask for nothing or beyond the end of the file or are refused, and
// ranks of a part of the nodes.
//
// ranks: 4
// not under: plain
#include "check.h"

static int rank, ranks;

static unsigned char value_of(MPI_Offset offset, int round) {
  return (unsigned char)(offset * 7 + offset / 251 + 13 * round);
}

// The rank's pieces lie at (i * ranks + rank) * piece.
static void set_interleaved_view(MPI_File file, int piece, int pieces, int of_rank, int of_ranks) {
  MPI_Datatype type;
  CHECK_MPI(MPI_Type_vector(pieces, piece, piece * of_ranks, MPI_BYTE, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  CHECK_MPI(MPI_File_set_view(file, (MPI_Offset)of_rank * piece, MPI_BYTE, type, "native",
                              MPI_INFO_NULL));
  CHECK_MPI(MPI_Type_free(&type));
}

static void fill(unsigned char* memory, int piece, int pieces, int of_rank, int of_ranks,
                 int round) {
  for (int i = 0; i < pieces; ++i)
    for (int b = 0; b < piece; ++b)
      memory[(size_t)i * piece + b] =
          value_of(((MPI_Offset)i * of_ranks + of_rank) * piece + b, round);
}

// What every rank wrote before it is there for all.
static void sync_all(MPI_File file, MPI_Comm comm) {
  CHECK_MPI(MPI_File_sync(file));
  CHECK_MPI(MPI_Barrier(comm));
  CHECK_MPI(MPI_File_sync(file));
}

static void interleaved(MPI_File file, MPI_Comm comm, int piece, int pieces, int round) {
  int me, count;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &count);
  const int bytes = piece * pieces, next = (me + 1) % count;
  unsigned char* memory = malloc(bytes);
  unsigned char* expected = malloc(bytes);
  set_interleaved_view(file, piece, pieces, me, count);
  fill(memory, piece, pieces, me, count, round);
  CHECK_MPI(MPI_File_write_at_all(file, 0, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  sync_all(file, comm);
  set_interleaved_view(file, piece, pieces, next, count);
  memset(memory, 0, bytes);
  MPI_Status status;
  CHECK_MPI(MPI_File_read_at_all(file, 0, memory, bytes, MPI_BYTE, &status));
  int got = 0;
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
  CHECK(got == bytes);
  fill(expected, piece, pieces, next, count, round);
  CHECK(memcmp(memory, expected, bytes) == 0);
  CHECK_MPI(MPI_Barrier(comm));  // before others write anew
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  free(memory);
  free(expected);
}

// One rank does something else than the others; what they ask for arrives.
static void one_differs(MPI_File file, int odd, int round) {
  enum { kBytes = 200000 };  // three chunks: of both nodes
  unsigned char* memory = calloc(kBytes, 1);
  const MPI_Offset mine = (MPI_Offset)rank * kBytes;
  for (int b = 0; b < kBytes; ++b) memory[b] = value_of(mine + b, round);
  if (rank != odd) {
    CHECK_MPI(MPI_File_write_at_all(file, mine, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  } else if (round % 2 == 0) {
    CHECK_MPI(MPI_File_write_at_all(file, mine, memory, 0, MPI_BYTE, MPI_STATUS_IGNORE));
  } else {  // refused
    CHECK(MPI_File_write_at_all(file, mine, memory, -1, MPI_BYTE, MPI_STATUS_IGNORE) !=
          MPI_SUCCESS);
  }
  sync_all(file, MPI_COMM_WORLD);
  MPI_Status status;
  const int other = (rank + 1) % ranks;
  const MPI_Offset far = (MPI_Offset)1 << 40;
  const int beyond = rank == odd;
  memset(memory, 0, kBytes);
  CHECK_MPI(MPI_File_read_at_all(file, beyond ? far : other * (MPI_Offset)kBytes, memory, kBytes,
                                 MPI_BYTE, &status));
  int got = 0;
  CHECK_MPI(MPI_Get_count(&status, MPI_BYTE, &got));
  CHECK(got == (beyond ? 0 : kBytes));
  for (int b = 0; b < got && other != odd; ++b)
    CHECK(memory[b] == value_of(other * (MPI_Offset)kBytes + b, round));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  free(memory);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char path[4096];
  snprintf(path, sizeof path, "%s/exchange", argv[1]);
  MPI_File file, part;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  interleaved(file, MPI_COMM_WORLD, 8, 70000, 1);    // more pieces than a window has
  interleaved(file, MPI_COMM_WORLD, 3000, 2000, 2);  // more bytes
  interleaved(file, MPI_COMM_WORLD, 100, 10, 3);     // one message
  for (int odd = 0; odd < ranks; ++odd)
    for (int round = 0; round < 2; ++round) one_differs(file, odd, 10 + 2 * odd + round);

  // With four nodes, two of the owners have no rank of this handle.
  MPI_Comm first_and_last;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 || rank == ranks - 1, rank, &first_and_last);
  if (rank == 0 || rank == ranks - 1) {
    CHECK_MPI(MPI_File_open(first_and_last, path, MPI_MODE_RDWR, MPI_INFO_NULL, &part));
    interleaved(part, first_and_last, 5000, 100, 4);
    CHECK_MPI(MPI_File_close(&part));
  }
  MPI_Comm_free(&first_and_last);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
