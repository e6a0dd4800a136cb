// A sliding window (Coloma 2004): a picture of 8 x 8 tiles of 4096 x 768 bytes. Each rank reads its
// tile and writes it, in collective calls through a view, and moves one tile on: 16 times
// (--count).
#include "arrays.h"

enum { TILES = 8, WIDTH = 4096, HEIGHT = 768 };

static void run(struct repetition* r) {
  const long long moves = r->count ? r->count : 16;
  const char* path = new_file(r, "sliding-window");
  struct block tile = {2, {TILES * HEIGHT, TILES * WIDTH}, {HEIGHT, WIDTH}, {0, 0}};
  const long long bytes = block_bytes(&tile), rows = TILES * HEIGHT;
  unsigned char* memory = touched_memory((size_t)bytes);
  r->file_bytes[0] = array_bytes(&tile);

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  phase_end(r, "open");
  phase_begin(r);
  for (long long row = workload_rank; row < rows; row += workload_ranks)
    write_at(r, file, row * TILES * WIDTH, TILES * WIDTH);
  workload_check(MPI_File_sync(file), "sync", path);
  phase_end(r, "make");
  for (long long i = 0; i < moves; ++i) {
    const int at = (int)((workload_rank + i) % (TILES * TILES));
    tile.starts[0] = at / TILES * HEIGHT;
    tile.starts[1] = at % TILES * WIDTH;
    MPI_Datatype type = type_of_blocks(&tile, 1);
    phase_begin(r);
    set_view(file, type, path);
    read_at_all(r, file, 0, (int)bytes, memory);
    phase_end(r, "read");
    for_each_row(r, &tile, 0, memory, check_row);
    phase_begin(r);
    write_all_at(r, file, 0, memory, (int)bytes);
    phase_end(r, "write");
    MPI_Type_free(&type);
  }
  close_file(r, file, path);
  free(memory);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "sliding-window", run); }
