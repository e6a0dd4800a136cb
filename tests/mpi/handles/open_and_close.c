// Each rank opens a file alone, again and again, and closes it while others open it. It writes the
// number of the round to a place of its own, and reads its own place, and that of the next rank,
// whose number must not go back.
//     open_and_close FILE ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { distance = 100 };

static int number_at(MPI_File file, int rank) {
  int number = 0;
  MPI_File_read_at(file, (MPI_Offset)rank * distance, &number, sizeof number, MPI_BYTE,
                   MPI_STATUS_IGNORE);
  return number;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, wrong = 0, seen = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int rounds = atoi(argv[2]);
  for (int round = 1; round <= rounds; ++round) {
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, (MPI_Offset)rank * distance, &round, sizeof round, MPI_BYTE,
                      MPI_STATUS_IGNORE);
    const int mine = number_at(file, rank), next = number_at(file, (rank + 1) % ranks);
    if (mine != round || next < seen) {
      printf("rank %d, round %d: %d in its place, and %d after %d in the next\n", rank, round, mine,
             next, seen);
      ++wrong;
    }
    seen = next;
    MPI_File_close(&file);
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
