// Parts of arrays: a file holds arrays of up to four dimensions, one after the other. Each rank has
// a block of every array, or several, and writes and reads it in one collective call through a
// view.
#pragma once

#include "workload.h"

enum { MOST_DIMENSIONS = 4 };

// The block of an array that a rank has; in C order, the last dimension counts bytes.
struct block {
  int dimensions;
  int sizes[MOST_DIMENSIONS];  // of the array
  int parts[MOST_DIMENSIONS];  // of the block
  int starts[MOST_DIMENSIONS];
};

static inline long long array_bytes(const struct block* block) {
  long long bytes = 1;
  for (int d = 0; d < block->dimensions; ++d) bytes *= block->sizes[d];
  return bytes;
}

static inline long long block_bytes(const struct block* block) {
  long long bytes = 1;
  for (int d = 0; d < block->dimensions; ++d) bytes *= block->parts[d];
  return bytes;
}

// This rank's place in a grid of all ranks with so many dimensions, as square as possible.
static inline void grid_of_ranks(int dimensions, int* grid, int* place) {
  for (int d = 0; d < dimensions; ++d) grid[d] = 0;
  MPI_Dims_create(workload_ranks, dimensions, grid);
  int rank = workload_rank;
  for (int d = dimensions - 1; d >= 0; --d) {
    place[d] = rank % grid[d];
    rank /= grid[d];
  }
}

// Calls act(r, row in `memory`, its offset in the file, its bytes) for each row of the block, in an
// array that begins at `base` in the file.
static inline void for_each_row(struct repetition* r, const struct block* block, long long base,
                                unsigned char* memory,
                                void (*act)(struct repetition*, unsigned char*, long long, int)) {
  const int last = block->dimensions - 1;
  const int row = block->parts[last];
  for (long long i = 0; i < block_bytes(block) / row; ++i) {
    long long offset = base + block->starts[last], step = block->sizes[last], rest = i;
    for (int d = last - 1; d >= 0; --d) {
      offset += (block->starts[d] + rest % block->parts[d]) * step;
      step *= block->sizes[d];
      rest /= block->parts[d];
    }
    act(r, memory + i * row, offset, row);
  }
}

static inline void fill_row(struct repetition* r, unsigned char* row, long long offset, int bytes) {
  (void)r;
  memcpy(row, workload_bytes(offset), (size_t)bytes);
}

static inline void check_row(struct repetition* r, unsigned char* row, long long offset,
                             int bytes) {
  expect_bytes(r, row, offset, bytes);
}

// The type of `count` blocks of one array, whose bytes ascend from block to block.
static inline MPI_Datatype type_of_blocks(const struct block* blocks, int count) {
  MPI_Datatype types[64], type;
  int lengths[64];
  MPI_Aint places[64];
  for (int i = 0; i < count; ++i) {
    MPI_Type_create_subarray(blocks[i].dimensions, blocks[i].sizes, blocks[i].parts,
                             blocks[i].starts, MPI_ORDER_C, MPI_BYTE, &types[i]);
    lengths[i] = 1;
    places[i] = 0;
  }
  MPI_Type_create_struct(count, lengths, places, types, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < count; ++i) MPI_Type_free(&types[i]);
  return type;
}

static inline void set_view(MPI_File file, MPI_Datatype type, const char* path) {
  workload_check(MPI_File_set_view(file, 0, MPI_BYTE, type, "native", MPI_INFO_NULL), "set_view",
                 path);
}

// One collective call of all ranks, at a position of the view.
static inline void write_all_at(struct repetition* r, MPI_File file, long long position,
                                const unsigned char* from, int bytes) {
  const int error = MPI_File_write_at_all(file, position, from, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS) workload_fail("write", r->paths[r->files - 1], error);
  r->write_calls += 1;
  r->written_bytes += bytes;
}

// Writes this rank's blocks of `arrays` arrays, one collective call an array, and reads them back
// through the same handle. The blocks are of one size.
static inline void blocks_of_arrays(struct repetition* r, const char* name,
                                    const struct block* blocks, int count, long long arrays) {
  const char* path = new_file(r, name);
  const long long whole = array_bytes(&blocks[0]), bytes = block_bytes(&blocks[0]);
  const long long mine = bytes * count;
  unsigned char* from = touched_memory((size_t)(mine * arrays));
  unsigned char* into = touched_memory((size_t)(mine * arrays));
  r->file_bytes[0] = arrays * whole;
  for (long long i = 0; i < arrays * count; ++i)
    for_each_row(r, &blocks[i % count], i / count * whole, from + i * bytes, fill_row);
  MPI_Datatype type = type_of_blocks(blocks, count);

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  set_view(file, type, path);
  phase_end(r, "open");
  phase_begin(r);
  for (long long a = 0; a < arrays; ++a)
    write_all_at(r, file, a * mine, from + a * mine, (int)mine);
  phase_end(r, "write");
  phase_begin(r);
  for (long long a = 0; a < arrays; ++a) read_at_all(r, file, a * mine, (int)mine, into + a * mine);
  phase_end(r, "read");
  close_file(r, file, path);

  MPI_Type_free(&type);
  for (long long i = 0; i < arrays * count; ++i)
    for_each_row(r, &blocks[i % count], i / count * whole, into + i * bytes, check_row);
  free(from);
  free(into);
}
