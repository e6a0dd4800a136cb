// Calls to be traced: 64-byte writes, 102,400 (--count) per rank, with irregular times of
// computation between them. The loop (--variant): `strided`: the ranks interleave blocks; `nested`:
// three nested loops over a part of the file, in another order than that of the file; `random`:
// each block of such a part once, in random order.
#include "workload.h"

enum { BLOCK = 64, ROWS = 16, COLUMNS = 8, LONGEST_PAUSE_NS = 2000 };

static uint64_t drawn;

static uint64_t draw(void) { return workload_mix(drawn++); }

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void compute(void) {
  const int64_t end = now_ns() + (int64_t)(draw() % LONGEST_PAUSE_NS);
  while (now_ns() < end) {
  }
}

// The blocks of [0, mine) in the order of the loop.
static long long* blocks_in_order(long long mine) {
  long long* const blocks = (long long*)touched_memory((size_t)mine * sizeof *blocks);
  const long long planes = mine / (ROWS * COLUMNS);
  for (long long i = 0; i < mine; ++i) {
    const long long column = i % COLUMNS, row = i / COLUMNS % ROWS, plane = i / (COLUMNS * ROWS);
    const int nested = strcmp(workload_variant, "nested") == 0;
    blocks[i] = nested ? (column * ROWS + row) * planes + plane : i;
  }
  if (strcmp(workload_variant, "random") != 0) return blocks;
  for (long long i = mine - 1; i > 0; --i) {
    const long long other = (long long)(draw() % (uint64_t)(i + 1)), kept = blocks[i];
    blocks[i] = blocks[other];
    blocks[other] = kept;
  }
  return blocks;
}

static void run(struct repetition* r) {
  const long long asked = r->count ? r->count : 102400;
  const long long mine = (asked + ROWS * COLUMNS - 1) / (ROWS * COLUMNS) * ROWS * COLUMNS;
  const char* const path = new_file(r, "trace");
  r->file_bytes[0] = mine * workload_ranks * BLOCK;
  drawn = (uint64_t)workload_rank << 32;
  const int interleaved = strcmp(workload_variant, "strided") == 0;
  long long* const blocks = blocks_in_order(mine);

  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  phase_begin(r);
  for (long long i = 0; i < mine; ++i) {
    const long long block =
        interleaved ? blocks[i] * workload_ranks + workload_rank : workload_rank * mine + blocks[i];
    write_at(r, file, block * BLOCK, BLOCK);
    compute();
  }
  phase_end(r, "write");
  workload_check(MPI_File_close(&file), "close", path);
  free(blocks);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "trace", run); }
