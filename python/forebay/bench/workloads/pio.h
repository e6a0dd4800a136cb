// pio-bench with computation (Chen 2010): each rank reads 64 (--count) blocks of 1 MiB of a file
// that is there, by collective calls, and computes for 10 milliseconds after each. The blocks of
// the ranks follow each other.
#pragma once

#include "computing.h"

enum { PIO_BLOCK = 1 << 20 };

static inline struct place pio_block(long long number) {
  return (struct place){(number * workload_ranks + workload_rank) * PIO_BLOCK, PIO_BLOCK};
}

// nth_read(i) is the block of read i, at or behind those of the reads before.
static inline void pio(struct repetition* r, const char* name,
                       struct place (*nth_read)(long long i)) {
  const long long reads = r->count ? r->count : 64;
  const struct place last = nth_read(reads - 1);
  const long long before = last.offset / PIO_BLOCK / workload_ranks;
  read_and_compute(r, name, (before + 1) * workload_ranks * PIO_BLOCK, reads, nth_read, 1, 10e-3);
}
