// What the standard guarantees to handles that know nothing of each other: each rank opens a file
// by itself, or the first half of the ranks and the second open it.
#include "visibility_phases.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  run(MPI_COMM_SELF, argv[1], "alone");
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, rank, &half);
  run(half, argv[1], "halves");
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
