// MPI-Tile-IO: the ranks divide a picture into tiles of 1024 x 1024 elements of 8 bytes, which
// overlap by 128 elements, and write and read theirs in collective calls through a view: 1 picture
// (--count).
#include "tiles.h"

static void run(struct repetition* r) { tiles(r, "tile-io", 1024, 1024, 8, 128, 1); }

int main(int argc, char** argv) { return workload_main(argc, argv, "tile-io", run); }
