// Phases in which ranks write interleaved pieces of many lengths and read their neighbour's, as the
// standard lets them in nonatomic mode (MPI 4.1, section 14.6.1): a rank sees another rank's bytes
// after sync, barrier, sync, and after close and open. Neighbours repeatedly write to the same
// page.
#pragma once

#include "check.h"

enum { kRounds = 60, kPhases = 3 };

static int rank, size;

static int64_t length_of(int round) { return 1 + (round * 37) % 701; }

// The offset of rank r's piece in a round. Each phase shifts everything, so later phases overwrite
// pieces of other ranks.
static MPI_Offset place(int phase, int round, int r) {
  MPI_Offset at = (MPI_Offset)phase * 131;
  for (int i = 0; i < round; ++i) at += length_of(i) * size;
  return at + r * length_of(round);
}

// The bytes at that place: byte_at of a position that differs from phase to phase.
static int64_t content(int phase, MPI_Offset at) { return at + phase * 1000003ll; }

static void write_phase(MPI_File file, int phase) {
  unsigned char memory[1024];
  for (int round = 0; round < kRounds; ++round) {
    MPI_Offset at = place(phase, round, rank);
    fill_bytes(memory, content(phase, at), length_of(round));
    CHECK_MPI(
        MPI_File_write_at(file, at, memory, (int)length_of(round), MPI_BYTE, MPI_STATUS_IGNORE));
  }
}

static void verify_phase(MPI_File file, int phase) {
  unsigned char memory[1024];
  for (int round = 0; round < kRounds; ++round) {
    MPI_Offset at = place(phase, round, (rank + 1) % size);
    CHECK_MPI(
        MPI_File_read_at(file, at, memory, (int)length_of(round), MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, content(phase, at), length_of(round)) == 0);
  }
}

// The ranks of `comm` open the file together, and other ranks in groups of their own.
static void run(MPI_Comm comm, const char* folder, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  MPI_File file;
  CHECK_MPI(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  for (int phase = 0; phase < kPhases; ++phase) {
    write_phase(file, phase);
    CHECK_MPI(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_sync(file));
    verify_phase(file, phase);
    // The writes of the next phase must not overtake these reads.
    CHECK_MPI(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_sync(file));
  }
  write_phase(file, kPhases);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_open(comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
  verify_phase(file, kPhases);
  CHECK_MPI(MPI_File_close(&file));
}
