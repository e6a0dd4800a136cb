// As in IOR's "easy" runs: each rank writes its own part of the file, 32 (--count) transfers of 1
// MiB, and reads it back through the same handle.
#include "records.h"

static void run(struct repetition* r) {
  records_in_parts(r, "ior-easy", r->count ? r->count : 32, 1 << 20);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "ior-easy", run); }
