// pio-bench with one stride: the next read's blocks follow those of this one.
#include "pio.h"

static struct place nth_read(long long i) { return pio_block(i); }

static void run(struct repetition* r) { pio(r, "pio", nth_read); }

int main(int argc, char** argv) { return workload_main(argc, argv, "pio", run); }
