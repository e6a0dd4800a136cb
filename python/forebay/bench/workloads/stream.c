// Large contiguous accesses: each rank writes its own part of the file, 8 (--count) blocks of 8
// MiB, and reads it back through the same handle.
#include "workload.h"

enum { BLOCK = 8 << 20 };

static void run(struct repetition* r) {
  const long long blocks = r->count ? r->count : 8;
  const char* path = new_file(r, "stream");
  unsigned char* into = touched_memory((size_t)(blocks * BLOCK));
  r->file_bytes[0] = blocks * BLOCK * workload_ranks;

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  phase_end(r, "open");
  phase_begin(r);
  for (long long i = 0; i < blocks; ++i)
    write_at(r, file, (workload_rank * blocks + i) * BLOCK, BLOCK);
  phase_end(r, "write");
  phase_begin(r);
  for (long long i = 0; i < blocks; ++i)
    read_at(r, file, (workload_rank * blocks + i) * BLOCK, BLOCK, into + i * BLOCK);
  phase_end(r, "read");
  close_file(r, file, path);

  for (long long i = 0; i < blocks; ++i)
    expect_bytes(r, into + i * BLOCK, (workload_rank * blocks + i) * BLOCK, BLOCK);
  free(into);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "stream", run); }
