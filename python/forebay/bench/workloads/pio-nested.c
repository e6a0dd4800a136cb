// pio-bench with a pair of strides: every second time, room for two further reads is left.
#include "pio.h"

static struct place nth_read(long long i) { return pio_block(2 * i - i % 2); }

static void run(struct repetition* r) { pio(r, "pio-nested", nth_read); }

int main(int argc, char** argv) { return workload_main(argc, argv, "pio-nested", run); }
