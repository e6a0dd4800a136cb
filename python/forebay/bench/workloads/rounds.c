// Reading in rounds, like a solver whose matrix is larger than its memory: every rank reads its
// records of 47,008 bytes, interleaved with those of the others, in order, and all of them again,
// in 10 rounds. 4,000 (--count) reads in all, with 100 microseconds of computation after each.
#include "computing.h"

enum { ROUNDS = 10, RECORD_BYTES = 47008 };

static long long records_a_round;  // per rank

static struct place nth_read(long long i) {
  const long long record = i % records_a_round * workload_ranks + workload_rank;
  return (struct place){record * RECORD_BYTES, RECORD_BYTES};
}

static void run(struct repetition* r) {
  const long long reads = (r->count ? r->count : 4000) / workload_ranks;
  records_a_round = reads < ROUNDS ? 1 : reads / ROUNDS;
  read_and_compute(r, "rounds", records_a_round * workload_ranks * RECORD_BYTES,
                   records_a_round * ROUNDS, nth_read, 0, 100e-6);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "rounds", run); }
