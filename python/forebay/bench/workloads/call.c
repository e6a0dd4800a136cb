// The cost of one small call: interleaved 300-byte writes, 20,000 (--count) per rank, over pages
// that are not cached ("first"), the same again ("again"), and reads of them ("read"). The figure
// is the processor time of the calling thread, `cpu_seconds`, per call.
#include "workload.h"

enum { RECORD = 300 };

static void run(struct repetition* r) {
  const long long mine = r->count ? r->count : 20000;
  const char* path = new_file(r, "call");
  unsigned char into[RECORD];
  r->file_bytes[0] = mine * workload_ranks * RECORD;

  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (int pass = 0; pass < 2; ++pass) {
    phase_begin(r);
    for (long long i = 0; i < mine; ++i)
      write_at(r, file, (i * workload_ranks + workload_rank) * RECORD, RECORD);
    phase_end(r, pass == 0 ? "first" : "again");
  }
  phase_begin(r);
  for (long long i = 0; i < mine; ++i)
    read_at(r, file, (i * workload_ranks + workload_rank) * RECORD, RECORD, into);
  phase_end(r, "read");
  expect_bytes(r, into, ((mine - 1) * workload_ranks + workload_rank) * RECORD, RECORD);
  close_file(r, file, path);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "call", run); }
