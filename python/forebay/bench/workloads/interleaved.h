// Interleaved records: record i of rank r is at (i * ranks + r) * bytes. Every rank writes its own
// records, with one independent call each, and reads them back through the same handle.
#pragma once

#include "workload.h"

// Makes `records` records of `bytes` bytes, of all ranks together, in one file of the repetition.
static inline void interleaved_records(struct repetition* r, const char* name, long long records,
                                       int bytes) {
  const long long mine = records / workload_ranks + (workload_rank < records % workload_ranks);
  const char* path = new_file(r, name);
  unsigned char* into = touched_memory((size_t)(mine * bytes));
  r->file_bytes[0] = records * bytes;

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  phase_end(r, "open");
  phase_begin(r);
  for (long long i = 0; i < mine; ++i)
    write_at(r, file, (i * workload_ranks + workload_rank) * bytes, bytes);
  phase_end(r, "write");
  phase_begin(r);
  for (long long i = 0; i < mine; ++i)
    read_at(r, file, (i * workload_ranks + workload_rank) * bytes, bytes, into + i * bytes);
  phase_end(r, "read");
  close_file(r, file, path);

  for (long long i = 0; i < mine; ++i)
    expect_bytes(r, into + i * bytes, (i * workload_ranks + workload_rank) * bytes, bytes);
  free(into);
}
