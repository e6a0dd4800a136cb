// Tiles of a picture, as of a display wall or a domain decomposition: the ranks divide frames of
// 8-byte elements into tiles side by side, 128 rows of 80,000 bytes each. Every rank writes its
// tile of 6 (--count) frames and reads it back, row by row, in independent calls through a view.
#include "workload.h"

enum { ROWS = 128, ROW = 80000 };

static void run(struct repetition* r) {
  const long long frames = r->count ? r->count : 6;
  const long long wide = (long long)ROW * workload_ranks;
  const long long mine = frames * ROWS;
  const char* path = new_file(r, "tile");
  unsigned char* into = touched_memory((size_t)(mine * ROW));
  r->file_bytes[0] = mine * wide;

  MPI_Datatype tile;
  const int sizes[2] = {ROWS, (int)wide}, part[2] = {ROWS, ROW};
  const int start[2] = {0, ROW * workload_rank};
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_BYTE, &tile);
  MPI_Type_commit(&tile);

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  workload_check(MPI_File_set_view(file, 0, MPI_BYTE, tile, "native", MPI_INFO_NULL), "set_view",
                 path);
  phase_end(r, "open");
  phase_begin(r);
  for (long long i = 0; i < mine; ++i) {
    const unsigned char* row = workload_bytes(i * wide + (long long)ROW * workload_rank);
    workload_check(MPI_File_write_at(file, i * ROW, row, ROW, MPI_BYTE, MPI_STATUS_IGNORE), "write",
                   path);
    r->write_calls += 1;
    r->written_bytes += ROW;
  }
  phase_end(r, "write");
  phase_begin(r);
  for (long long i = 0; i < mine; ++i) read_at(r, file, i * ROW, ROW, into + i * ROW);
  phase_end(r, "read");
  close_file(r, file, path);
  MPI_Type_free(&tile);

  for (long long i = 0; i < mine; ++i)
    expect_bytes(r, into + i * ROW, i * wide + (long long)ROW * workload_rank, ROW);
  free(into);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "tile", run); }
