// BT-IO of the NAS Parallel Benchmarks, with reads added: a cube of 64^3 points of 40 bytes, which
// the ranks, a square number q^2, divide into q^3 cells. Each rank has q of them, one in each
// plane, on a diagonal. It writes them in one collective call through a view, and later reads them
// back: 3 cubes (--count).
#include "arrays.h"

enum { POINTS = 64, POINT = 40, MOST_CELLS = 32 };

static void run(struct repetition* r) {
  int q = 1;
  while (q * q < workload_ranks) ++q;
  if (q * q != workload_ranks || POINTS % q != 0 || q > MOST_CELLS)
    workload_fail("needs 1, 4, 16, 64, ... ranks", "btio", MPI_SUCCESS);
  const int edge = POINTS / q, i = workload_rank % q, j = workload_rank / q;
  struct block cells[MOST_CELLS];
  for (int c = 0; c < q; ++c) {
    cells[c] = (struct block){
        3,
        {POINTS, POINTS, POINTS * POINT},
        {edge, edge, edge * POINT},
        {c * edge, (j + q - c) % q * edge, (i + c) % q * edge * POINT},
    };
  }
  blocks_of_arrays(r, "btio", cells, q, r->count ? r->count : 3);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "btio", run); }
