// Records of medium size, as in IOR's "hard" runs: 47,008-byte independent writes at interleaved
// unaligned offsets, 1,600 (--count) in all. Then each rank reads its own records back through the
// same handle.
#include "records.h"

static void run(struct repetition* r) {
  interleaved_records(r, "ior-hard", r->count ? r->count : 1600, 47008);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "ior-hard", run); }
