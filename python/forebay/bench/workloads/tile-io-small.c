// MPI-Tile-IO with small tiles: 80 x 1000 elements of one byte, 20 pictures (--count).
#include "tiles.h"

static void run(struct repetition* r) { tiles(r, "tile-io-small", 80, 1000, 1, 0, 20); }

int main(int argc, char** argv) { return workload_main(argc, argv, "tile-io-small", run); }
