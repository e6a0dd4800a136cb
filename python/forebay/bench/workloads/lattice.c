// A field on a lattice in four dimensions, as in quantum chromodynamics: each rank has a block of
// 16^4 sites of 192 bytes, and writes and reads it in one collective call through a view: 1 field
// (--count). With --variant by-hand the ranks exchange the bytes themselves, and use no MPI-IO.
#include "by_hand.h"

enum { SITES = 16, SITE = 192 };

static struct block block_of(int rank) {
  int grid[4] = {0, 0, 0, 0};
  struct block block = {4, {0}, {0}, {0}};
  MPI_Dims_create(workload_ranks, 4, grid);
  for (int d = 3; d >= 0; --d) {
    block.parts[d] = d == 3 ? SITES * SITE : SITES;
    block.starts[d] = rank % grid[d] * block.parts[d];
    block.sizes[d] = grid[d] * block.parts[d];
    rank /= grid[d];
  }
  return block;
}

static void run(struct repetition* r) {
  const long long fields = r->count ? r->count : 1;
  const struct block block = block_of(workload_rank);
  if (strcmp(workload_variant, "by-hand") == 0)
    blocks_by_hand(r, "lattice", block_of, fields);
  else
    blocks_of_arrays(r, "lattice", &block, 1, fields);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "lattice", run); }
