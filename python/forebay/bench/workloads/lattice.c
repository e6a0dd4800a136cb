// A field on a lattice in four dimensions, as in quantum chromodynamics: each rank has a block of
// 16^4 sites of 192 bytes, and writes and reads it in one collective call through a view: 1 field
// (--count).
#include "arrays.h"

enum { SITES = 16, SITE = 192 };

static void run(struct repetition* r) {
  int grid[4], place[4];
  grid_of_ranks(4, grid, place);
  struct block block = {4, {0}, {0}, {0}};
  for (int d = 0; d < 4; ++d) {
    block.parts[d] = d == 3 ? SITES * SITE : SITES;
    block.starts[d] = place[d] * block.parts[d];
    block.sizes[d] = grid[d] * block.parts[d];
  }
  blocks_of_arrays(r, "lattice", &block, 1, r->count ? r->count : 1);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "lattice", run); }
