// Small records: 300-byte independent writes at interleaved unaligned offsets, 100,000 (--count) in
// all, then each rank reads its own back through the same handle. Record i of rank r lies at
// (i * ranks + r) * 300.
#include "workload.h"

enum { RECORD = 300 };

static void run(struct repetition* r) {
  const long long records = r->count ? r->count : 100000;
  const long long mine = records / workload_ranks + (workload_rank < records % workload_ranks);
  const char* path = new_file(r, "small");
  unsigned char* into = touched_memory((size_t)(mine * RECORD));
  r->file_bytes[0] = records * RECORD;

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  phase_end(r, "open");
  phase_begin(r);
  for (long long i = 0; i < mine; ++i)
    write_at(r, file, (i * workload_ranks + workload_rank) * RECORD, RECORD);
  phase_end(r, "write");
  phase_begin(r);
  for (long long i = 0; i < mine; ++i)
    read_at(r, file, (i * workload_ranks + workload_rank) * RECORD, RECORD, into + i * RECORD);
  phase_end(r, "read");
  close_file(r, file, path);

  for (long long i = 0; i < mine; ++i)
    expect_bytes(r, into + i * RECORD, (i * workload_ranks + workload_rank) * RECORD, RECORD);
  free(into);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "small", run); }
