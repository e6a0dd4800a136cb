// Large contiguous accesses: each rank writes its own part of the file, 8 (--count) blocks of 8
// MiB, and reads it back through the same handle.
#include "records.h"

static void run(struct repetition* r) {
  records_in_parts(r, "stream", r->count ? r->count : 8, 8 << 20);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "stream", run); }
