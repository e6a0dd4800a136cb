// mpi-io-test of PVFS: in each of 2 (--count) rounds every rank writes a block of 16 MiB, the
// ranks' blocks one after the other, and reads them back through the same handle.
#include "records.h"

static void run(struct repetition* r) {
  interleaved_records(r, "mpi-io-test", (r->count ? r->count : 2) * workload_ranks, 16 << 20);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "mpi-io-test", run); }
