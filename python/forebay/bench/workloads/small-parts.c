// Small records in parts of the ranks' own, as particles of a simulation: each rank writes 25,000
// (--count) records of 300 bytes one after the other, and reads them back through the same handle.
#include "records.h"

static void run(struct repetition* r) {
  records_in_parts(r, "small-parts", r->count ? r->count : 25000, 300);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "small-parts", run); }
