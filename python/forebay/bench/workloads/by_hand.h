// Blocks of an array without MPI-IO, as programs do it by hand: the ranks exchange rows, so that
// each has a contiguous part of the array, and every part is written, or read, with one call.
#pragma once

#include "arrays.h"

// What rank `rank` has of the array.
typedef struct block (*block_of_rank)(int rank);

struct exchange {
  long long part;            // bytes of the array on each rank, whole rows; the last may lack some
  int *to_parts, *at_parts;  // of this rank's block: bytes in each rank's part, and where
  int *of_blocks, *at_blocks;  // of this rank's part: bytes of each rank's block, and where
  unsigned char* exchanged;    // those of all blocks, one after the other
};

static inline long long row_offset(const struct block* block, long long i) {
  const int last = block->dimensions - 1;
  long long offset = block->starts[last], step = block->sizes[last];
  for (int d = last - 1; d >= 0; --d) {
    offset += (block->starts[d] + i % block->parts[d]) * step;
    step *= block->sizes[d];
    i /= block->parts[d];
  }
  return offset;
}

static inline long long rows_of(const struct block* block) {
  return block_bytes(block) / block->parts[block->dimensions - 1];
}

static inline void add_up(int* at, const int* bytes) {
  at[0] = 0;
  for (int rank = 1; rank < workload_ranks; ++rank) at[rank] = at[rank - 1] + bytes[rank - 1];
}

static inline struct exchange plan_exchange(block_of_rank block_of) {
  const size_t ranks = (size_t)workload_ranks;
  struct exchange e;
  int** const tables[] = {&e.to_parts, &e.at_parts, &e.of_blocks, &e.at_blocks};
  for (int t = 0; t < 4; ++t) *tables[t] = calloc(ranks, sizeof(int));
  const struct block mine = block_of(workload_rank);
  const int line = mine.sizes[mine.dimensions - 1];
  const long long lines = array_bytes(&mine) / line;
  e.part = (lines + workload_ranks - 1) / workload_ranks * line;
  for (int rank = 0; rank < workload_ranks; ++rank) {
    const struct block block = block_of(rank);
    const int row = block.parts[block.dimensions - 1];
    for (long long i = 0; i < rows_of(&block); ++i) {
      const long long part = row_offset(&block, i) / e.part;
      if (rank == workload_rank) e.to_parts[part] += row;
      if (part == workload_rank) e.of_blocks[rank] += row;
    }
  }
  add_up(e.at_parts, e.to_parts);
  add_up(e.at_blocks, e.of_blocks);
  e.exchanged = touched_memory((size_t)e.part);
  return e;
}

static inline void end_exchange(struct exchange* e) {
  free(e->to_parts);
  free(e->at_parts);
  free(e->of_blocks);
  free(e->at_blocks);
  free(e->exchanged);
}

// Copies the rows in this rank's part from the blocks' order into the array's, or back.
static inline void order_rows(const struct exchange* e, block_of_rank block_of,
                              unsigned char* in_part, int into_part) {
  unsigned char* in_blocks = e->exchanged;
  for (int rank = 0; rank < workload_ranks; ++rank) {
    const struct block block = block_of(rank);
    const int row = block.parts[block.dimensions - 1];
    for (long long i = 0; i < rows_of(&block); ++i) {
      const long long offset = row_offset(&block, i);
      if (offset / e->part != workload_rank) continue;
      unsigned char* const place = in_part + offset % e->part;
      memcpy(into_part ? place : in_blocks, into_part ? in_blocks : place, (size_t)row);
      in_blocks += row;
    }
  }
}

// Writes or reads all bytes of the part that lie in the array.
static inline void move_part(struct repetition* r, int fd, int writes, const struct exchange* e,
                             long long whole, long long base, unsigned char* part) {
  const char* const path = r->paths[r->files - 1];
  const long long begin = workload_rank * e->part;
  long long left = whole - begin < e->part ? whole - begin : e->part;
  long long at = base + begin;
  while (left > 0) {
    const ssize_t moved =
        writes ? pwrite(fd, part, (size_t)left, at) : pread(fd, part, (size_t)left, at);
    if (moved <= 0) workload_fail(writes ? "cannot write" : "cannot read", path, MPI_SUCCESS);
    part += moved;
    at += moved;
    left -= moved;
  }
}

// As blocks_of_arrays, for one block of each rank.
static inline void blocks_by_hand(struct repetition* r, const char* name, block_of_rank block_of,
                                  long long arrays) {
  const char* path = new_file(r, name);
  const struct block block = block_of(workload_rank);
  const long long whole = array_bytes(&block), mine = block_bytes(&block);
  unsigned char* from = touched_memory((size_t)(mine * arrays));
  unsigned char* into = touched_memory((size_t)(mine * arrays));
  r->file_bytes[0] = arrays * whole;
  for (long long a = 0; a < arrays; ++a)
    for_each_row(r, &block, a * whole, from + a * mine, fill_row);
  struct exchange e = plan_exchange(block_of);  // programs do this once
  unsigned char* const part = touched_memory((size_t)e.part);

  phase_begin(r);
  const int fd = open(path, O_CREAT | O_RDWR, 0644);
  if (fd < 0) workload_fail("cannot open", path, MPI_SUCCESS);
  phase_end(r, "open");
  phase_begin(r);
  for (long long a = 0; a < arrays; ++a) {
    MPI_Alltoallv(from + a * mine, e.to_parts, e.at_parts, MPI_BYTE, e.exchanged, e.of_blocks,
                  e.at_blocks, MPI_BYTE, MPI_COMM_WORLD);
    order_rows(&e, block_of, part, 1);
    move_part(r, fd, 1, &e, whole, a * whole, part);
    r->write_calls += 1;
    r->written_bytes += mine;
  }
  phase_end(r, "write");
  phase_begin(r);
  for (long long a = 0; a < arrays; ++a) {
    move_part(r, fd, 0, &e, whole, a * whole, part);
    order_rows(&e, block_of, part, 0);
    MPI_Alltoallv(e.exchanged, e.of_blocks, e.at_blocks, MPI_BYTE, into + a * mine, e.to_parts,
                  e.at_parts, MPI_BYTE, MPI_COMM_WORLD);
    r->read_calls += 1;
    r->read_bytes += mine;
  }
  phase_end(r, "read");
  phase_begin(r);
  if (close(fd) != 0) workload_fail("cannot close", path, MPI_SUCCESS);
  phase_end(r, "close");

  for (long long a = 0; a < arrays; ++a)
    for_each_row(r, &block, a * whole, into + a * mine, check_row);
  end_exchange(&e);
  free(part);
  free(from);
  free(into);
}
