// Parts of a file: every rank writes its own contiguous part, block by block in independent calls,
// and reads it back through the same handle.
#pragma once

#include "workload.h"

static inline void own_parts(struct repetition* r, const char* name, long long blocks,
                             int block_bytes) {
  const char* path = new_file(r, name);
  unsigned char* into = touched_memory((size_t)(blocks * block_bytes));
  r->file_bytes[0] = blocks * block_bytes * workload_ranks;

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  phase_end(r, "open");
  phase_begin(r);
  for (long long i = 0; i < blocks; ++i)
    write_at(r, file, (workload_rank * blocks + i) * block_bytes, block_bytes);
  phase_end(r, "write");
  phase_begin(r);
  for (long long i = 0; i < blocks; ++i)
    read_at(r, file, (workload_rank * blocks + i) * block_bytes, block_bytes,
            into + i * block_bytes);
  phase_end(r, "read");
  close_file(r, file, path);

  for (long long i = 0; i < blocks; ++i)
    expect_bytes(r, into + i * block_bytes, (workload_rank * blocks + i) * block_bytes,
                 block_bytes);
  free(into);
}
