// What the standard guarantees to ranks that open a file together.
#include "visibility_phases.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  run(MPI_COMM_WORLD, argv[1], "visible");
  MPI_Finalize();
  return 0;
}
