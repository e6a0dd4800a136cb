// Pictures in tiles, one for each rank, in collective calls through a view.
#pragma once

#include "arrays.h"

// `width` x `height` elements a tile; neighbours overlap by `overlap` elements, where they write
// the same bytes.
static inline void tiles(struct repetition* r, const char* name, int width, int height,
                         int element_bytes, int overlap, long long pictures) {
  int grid[2], place[2];
  grid_of_ranks(2, grid, place);
  const int parts[2] = {height, width * element_bytes};
  const int steps[2] = {height - overlap, (width - overlap) * element_bytes};
  struct block tile = {2, {0}, {0}, {0}};
  for (int d = 0; d < 2; ++d) {
    tile.parts[d] = parts[d];
    tile.starts[d] = place[d] * steps[d];
    tile.sizes[d] = (grid[d] - 1) * steps[d] + parts[d];
  }
  blocks_of_arrays(r, name, &tile, 1, r->count ? r->count : pictures);
}
