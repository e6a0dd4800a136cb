// Reading records, like an analysis of PnetCDF output. A record has five variables of different
// sizes, in each the ranks' parts side by side. Every rank reads its parts of a record, in another
// order than that of the file, then those of the next record: 8,192 (--count) reads in all, with
// 100 microseconds of computation after each.
#include "computing.h"

enum { VARIABLES = 5 };

static const struct {
  int bytes;         // of one rank's part
  long long before;  // bytes of the variables before it in the record, per rank
} variables[VARIABLES] = {{8192, 20580}, {1200, 0}, {40, 20540}, {16384, 4156}, {2956, 1200}};
static const long long record_bytes = 28772;  // per rank

static struct place nth_read(long long i) {
  const long long v = i % VARIABLES;
  const long long record = i / VARIABLES * record_bytes * workload_ranks;
  return (struct place){
      record + variables[v].before * workload_ranks + variables[v].bytes * workload_rank,
      variables[v].bytes};
}

static void run(struct repetition* r) {
  const long long reads = (r->count ? r->count : 8192) / workload_ranks;
  const long long records = (reads + VARIABLES - 1) / VARIABLES;
  read_and_compute(r, "record-read", records * record_bytes * workload_ranks, reads, nth_read, 0,
                   100e-6);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "record-read", run); }
