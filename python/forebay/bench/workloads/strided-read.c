// Strided reading with computation. The ranks interleave 4 KiB records that together cover the
// file, 8,192 (--count) in all, and compute for 100 microseconds of processor time after each.
#include "computing.h"

enum { RECORD = 4096 };

static struct place nth_read(long long i) {
  return (struct place){(i * workload_ranks + workload_rank) * RECORD, RECORD};
}

static void run(struct repetition* r) {
  const long long records = r->count ? r->count : 8192;
  const long long mine = records / workload_ranks + (workload_rank < records % workload_ranks);
  read_and_compute(r, "strided-read", records * RECORD, mine, nth_read, 0, 100e-6);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "strided-read", run); }
