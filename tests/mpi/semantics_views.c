// File views and memory types (MPI 4.1, sections 14.3 and 5.1): nested, with gaps, resized, empty
// on some ranks, freed after use; buffers from MPI_BOTTOM and with negative lower bounds.
#include <string.h>

#include "check.h"

enum { kBlock = 5, kBlocks = 40 };

static int rank, size;

static void barrier_with_sync(MPI_File file) {
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_sync(file));
}

// Ranks interleave blocks of kBlock ints; together they fill the file.
static void interleaved(MPI_File file) {
  MPI_Datatype block, tile;
  MPI_Type_contiguous(kBlock, MPI_INT, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)size * kBlock * 4, &tile);
  MPI_Type_commit(&tile);
  const MPI_Offset displacement = 64 + (MPI_Offset)rank * kBlock * 4;
  CHECK_MPI(MPI_File_set_view(file, displacement, MPI_INT, tile, "native", MPI_INFO_NULL));
  MPI_Type_free(&tile);
  MPI_Type_free(&block);
  int data[kBlock * kBlocks];
  for (int i = 0; i < kBlock * kBlocks; ++i) data[i] = i * size + rank;
  // In pieces that begin and end within blocks.
  for (int done = 0; done < kBlock * kBlocks;) {
    int part = 7;
    if (part > kBlock * kBlocks - done) part = kBlock * kBlocks - done;
    CHECK_MPI(MPI_File_write(file, data + done, part, MPI_INT, MPI_STATUS_IGNORE));
    done += part;
  }
  MPI_Offset position, byte;
  CHECK_MPI(MPI_File_get_position(file, &position));
  CHECK(position == kBlock * kBlocks);
  CHECK_MPI(MPI_File_get_byte_offset(file, kBlock + 2, &byte));
  CHECK(byte == displacement + (MPI_Offset)size * kBlock * 4 + 8);
  MPI_Datatype etype, filetype;
  MPI_Offset seen;
  char datarep[MPI_MAX_DATAREP_STRING];
  CHECK_MPI(MPI_File_get_view(file, &seen, &etype, &filetype, datarep));
  MPI_Aint lower, extent;
  MPI_Type_get_extent(filetype, &lower, &extent);
  CHECK(seen == displacement && etype == MPI_INT && extent == (MPI_Aint)size * kBlock * 4 &&
        strcmp(datarep, "native") == 0);
  MPI_Type_free(&filetype);
  barrier_with_sync(file);
  CHECK_MPI(MPI_File_set_view(file, 64, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  int whole[kBlock * kBlocks * 4];
  const int total = kBlock * kBlocks * size;
  CHECK_MPI(MPI_File_read_at_all(file, 0, whole, total, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 0; i < total; ++i) {
    const int owner = i / kBlock % size, index = i / kBlock / size * kBlock + i % kBlock;
    CHECK(whole[i] == index * size + owner);
  }
}

// A matrix, by column blocks in the file; in memory within a larger matrix.
static void subarrays(MPI_File file) {
  const int sizes[2] = {9, 6 * size}, parts[2] = {9, 6}, starts[2] = {0, 6 * rank};
  const int memory_sizes[2] = {11, 8}, memory_starts[2] = {1, 1};
  MPI_Datatype filetype, memory_type;
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_SHORT, &filetype);
  MPI_Type_create_subarray(2, memory_sizes, parts, memory_starts, MPI_ORDER_C, MPI_SHORT,
                           &memory_type);
  MPI_Type_commit(&filetype);
  MPI_Type_commit(&memory_type);
  CHECK_MPI(MPI_File_set_view(file, 3, MPI_SHORT, filetype, "native", MPI_INFO_NULL));
  short memory[11][8], back[11][8];
  memset(back, 0, sizeof back);
  for (int i = 0; i < 11; ++i)
    for (int j = 0; j < 8; ++j) memory[i][j] = (short)(1000 * rank + 10 * i + j);
  MPI_Status status;
  int elements;
  CHECK_MPI(MPI_File_write_at_all(file, 0, memory, 1, memory_type, &status));
  MPI_Get_elements(&status, memory_type, &elements);
  CHECK(elements == 9 * 6);
  CHECK_MPI(MPI_File_read_at_all(file, 0, back, 1, memory_type, &status));
  for (int i = 0; i < 11; ++i)
    for (int j = 0; j < 8; ++j) {
      const int inside = i >= 1 && i < 10 && j >= 1 && j < 7;
      CHECK(back[i][j] == (inside ? memory[i][j] : 0));
    }
  barrier_with_sync(file);
  CHECK_MPI(MPI_File_set_view(file, 3, MPI_SHORT, MPI_SHORT, "native", MPI_INFO_NULL));
  short row[6 * 4];
  CHECK_MPI(MPI_File_read_at(file, 6 * size * 4, row, 6 * size, MPI_SHORT, MPI_STATUS_IGNORE));
  for (int i = 0; i < 6 * size; ++i) CHECK(row[i] == 1000 * (i / 6) + 50 + i % 6 + 1);
  MPI_Type_free(&filetype);
  MPI_Type_free(&memory_type);
}

static void odd_buffers(MPI_File file) {
  CHECK_MPI(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  const MPI_Offset at = 100000 + rank * 1000;
  double numbers[4] = {1.5, 2.5, 3.5, 4.5}, back[4] = {0};
  int lengths[2] = {1, 2};
  MPI_Aint places[2];
  MPI_Datatype type;
  // Absolute addresses, in descending order.
  MPI_Get_address(&numbers[3], &places[0]);
  MPI_Get_address(&numbers[0], &places[1]);
  MPI_Type_create_hindexed(2, lengths, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  CHECK_MPI(MPI_File_write_at(file, at, MPI_BOTTOM, 1, type, MPI_STATUS_IGNORE));
  MPI_Type_free(&type);
  CHECK_MPI(MPI_File_read_at(file, at, back, 3, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK(back[0] == 4.5 && back[1] == 1.5 && back[2] == 2.5);
  // Data before the buffer's address.
  places[0] = -(MPI_Aint)sizeof(double);
  places[1] = sizeof(double);
  lengths[1] = 1;
  MPI_Type_create_hindexed(2, lengths, places, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  CHECK_MPI(MPI_File_write_at(file, at + 100, &numbers[2], 1, type, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_File_read_at(file, at + 100, back, 2, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK(back[0] == 2.5 && back[1] == 4.5);
  MPI_Type_free(&type);
}

// A rank with an empty view takes part, too.
static void empty_view(MPI_File file) {
  MPI_Datatype filetype;
  MPI_Type_contiguous(rank == 0 ? 4 : 0, MPI_INT, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_MPI(MPI_File_set_view(file, 200000, MPI_INT, filetype, "native", MPI_INFO_NULL));
  int data[4] = {1, 2, 3, 4}, back[4] = {0};
  CHECK_MPI(MPI_File_write_all(file, data, rank == 0 ? 4 : 0, MPI_INT, MPI_STATUS_IGNORE));
  if (rank == 0) {
    CHECK_MPI(MPI_File_read_at(file, 0, back, 4, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(back[3] == 4);
  }
  MPI_Type_free(&filetype);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char path[4096];
  snprintf(path, sizeof path, "%s/views", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  interleaved(file);
  subarrays(file);
  odd_buffers(file);
  empty_view(file);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
