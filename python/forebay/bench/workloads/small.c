// Small records: 300-byte independent writes at interleaved unaligned offsets, 100,000 (--count) in
// all. Then each rank reads its own records back through the same handle.
#include "records.h"

static void run(struct repetition* r) {
  interleaved_records(r, "small", r->count ? r->count : 100000, 300);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "small", run); }
