// Ranks of two nodes see at once what any rank has written, wherever the owner of a byte is: bytes,
// the end of the file, and holes below it; also through handles that one rank opens alone.
//
// ranks: 4
// not under: nodes process job guests
#include "check.h"

enum { kChunk = 1 << 16, kChunks = 9, kRecord = 1000, kLong = (3 << 20) + 123 };

static int rank, size;
static unsigned char memory[kLong];

static void write_record(MPI_File file, MPI_Offset offset, int round) {
  fill_bytes(memory, offset + 7919 * round, kRecord);
  CHECK_MPI(MPI_File_write_at(file, offset, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void check_record(MPI_File file, MPI_Offset offset, int round) {
  MPI_Status status;
  int count;
  CHECK_MPI(MPI_File_read_at(file, offset, memory, kRecord, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == kRecord);
  CHECK(wrong_bytes(memory, offset + 7919 * round, kRecord) == 0);
}

// Across the border of two chunks, so that it has two owners.
static MPI_Offset border(int chunk) { return (MPI_Offset)chunk * kChunk - kRecord / 2; }

// In turn each rank writes, and all others read without any call on the file in between.
static void take_turns(MPI_File file) {
  for (int writer = 0; writer < size; ++writer) {
    if (rank == writer)
      for (int chunk = 1; chunk < kChunks; ++chunk) write_record(file, border(chunk), writer);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int chunk = 1; chunk < kChunks; ++chunk) check_record(file, border(chunk), writer);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// A byte far beyond: every rank learns of the end and finds zeros below it, in its own chunks, too.
static void extend(MPI_File file, int writer) {
  MPI_Status status;
  MPI_Offset bytes, end;
  int count;
  CHECK_MPI(MPI_File_get_size(file, &bytes));
  MPI_Barrier(MPI_COMM_WORLD);
  const MPI_Offset last = bytes + 5 * kChunk + 17;
  if (rank == writer) CHECK_MPI(MPI_File_write_at(file, last, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_get_size(file, &end));
  CHECK(end == last + 1);
  for (MPI_Offset offset = bytes; offset < last; offset += kRecord) {
    memset(memory, 1, kRecord);
    CHECK_MPI(MPI_File_read_at(file, offset, memory, kRecord, MPI_BYTE, &status));
    MPI_Get_count(&status, MPI_BYTE, &count);
    const MPI_Offset left = end - offset;
    CHECK(count == (left < kRecord ? left : kRecord));
    for (int b = 0; b < count; ++b) CHECK(memory[b] == (offset + b == last ? 'x' : 0));
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Runs that go past all caches, and records in their middle, across both ends, and beside them.
static void mix_with_long_runs(MPI_File file) {
  const MPI_Offset begin = kChunk / 2 + 7, end = begin + kLong;
  const MPI_Offset records[] = {begin - kRecord, begin - kRecord / 2, begin + kLong / 2,
                                end - kRecord / 2, end};
  const int count = sizeof records / sizeof *records;
  for (int writer = 0; writer < size; ++writer) {
    const int other = (writer + 1) % size;
    if (rank == other)
      for (int r = 0; r < count; ++r) write_record(file, records[r], 200 + writer);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < count; ++r) {
      if (r != 0 && r != 3) check_record(file, records[r], 200 + writer);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == writer) {
      fill_bytes(memory, begin + writer, kLong);
      CHECK_MPI(MPI_File_write_at(file, begin, memory, kLong, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // The records beside the run are as they were, and those within have its bytes.
    CHECK_MPI(MPI_File_read_at(file, begin - 10, memory, 20, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, begin - kRecord / 2 + 7919 * (200 + writer) + kRecord / 2 - 10, 10) ==
          0);
    CHECK(wrong_bytes(memory + 10, begin + writer, 10) == 0);
    CHECK_MPI(
        MPI_File_read_at(file, begin + kLong / 2, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, begin + kLong / 2 + writer, kRecord) == 0);
    check_record(file, end, 200 + writer);
    MPI_Barrier(MPI_COMM_WORLD);
    // A record that only its owner has is in a long run that is read.
    const MPI_Offset last = begin + kLong / 3;
    if (rank == other) write_record(file, last, 300 + writer);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_MPI(MPI_File_read_at(file, begin, memory, kLong, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, begin + writer, kLong / 3) == 0);
    CHECK(wrong_bytes(memory + kLong / 3, last + 7919 * (300 + writer), kRecord) == 0);
    CHECK(wrong_bytes(memory + kLong / 3 + kRecord, last + kRecord + writer,
                      kLong - kLong / 3 - kRecord) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Ranks that read while another writes a long run may get old bytes or new ones, but no cache may
// keep the old ones.
static void read_beside_long_writes(MPI_File file) {
  for (int round = 0; round < 20; ++round) {
    if (rank == round % size) {
      fill_bytes(memory, 31 * round, kLong);
      CHECK_MPI(MPI_File_write_at(file, 0, memory, kLong, MPI_BYTE, MPI_STATUS_IGNORE));
    } else {
      for (MPI_Offset offset = rank; offset < kLong - kRecord; offset += kLong / 500)
        CHECK_MPI(MPI_File_read_at(file, offset, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (MPI_Offset offset = rank; offset < kLong - kRecord; offset += kLong / 500) {
      CHECK_MPI(MPI_File_read_at(file, offset, memory, kRecord, MPI_BYTE, MPI_STATUS_IGNORE));
      CHECK(wrong_bytes(memory, offset + 31 * round, kRecord) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// Handles of one rank alone, opened before and after the ranks' common one.
static void use_own_handles(const char* name) {
  MPI_File own, common;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  if (rank == 0) {
    CHECK_MPI(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &own));
    write_record(own, border(1), 100);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &common));
  check_record(common, border(1), 100);
  if (rank != 0) CHECK_MPI(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &own));
  MPI_Barrier(MPI_COMM_WORLD);
  take_turns(own);
  for (int chunk = 1; chunk < kChunks; ++chunk) check_record(common, border(chunk), size - 1);
  // They see each other's bytes also when the common handle is closed.
  CHECK_MPI(MPI_File_close(&common));
  take_turns(own);
  extend(own, size - 1);
  CHECK_MPI(MPI_File_close(&own));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char name[4096];
  snprintf(name, sizeof name, "%s/owners.bin", argc > 1 ? argv[1] : ".");
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  take_turns(file);
  for (int writer = 0; writer < size; ++writer) extend(file, writer);
  mix_with_long_runs(file);
  read_beside_long_writes(file);
  // A set_size on all nodes: what lay beyond is gone.
  CHECK_MPI(MPI_File_set_size(file, 3 * kChunk));
  CHECK_MPI(MPI_File_set_size(file, 6 * kChunk));
  MPI_Status status;
  int count;
  CHECK_MPI(MPI_File_read_at(file, 2 * kChunk, memory, 2 * kChunk, MPI_BYTE, &status));
  MPI_Get_count(&status, MPI_BYTE, &count);
  CHECK(count == 2 * kChunk);
  for (int b = kChunk; b < 2 * kChunk; ++b) CHECK(memory[b] == 0);
  CHECK_MPI(MPI_File_close(&file));
  snprintf(name, sizeof name, "%s/own.bin", argc > 1 ? argv[1] : ".");
  use_own_handles(name);
  MPI_Finalize();
  return 0;
}
