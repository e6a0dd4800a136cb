// Groups of ranks open a file, again and again, and close it while others open it. Each rank writes
// the number of the round to a place of its own, and reads its own place, and that of the next
// rank, whose number must not go back.
//     open_and_close FILE ROUNDS GROUPS
// GROUPS has a letter for each rank: ranks with the same letter open the file together.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { distance = 100 };

static int wrong = 0;

static void expect_success(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  printf("%s: %s\n", call, text);
  ++wrong;
}

static int number_at(MPI_File file, int rank) {
  int number = 0;
  expect_success(MPI_File_read_at(file, (MPI_Offset)rank * distance, &number, sizeof number,
                                  MPI_BYTE, MPI_STATUS_IGNORE),
                 "MPI_File_read_at");
  return number;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1, seen = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || strlen(argv[3]) != (size_t)ranks) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm group;
  MPI_Comm_split(MPI_COMM_WORLD, argv[3][rank], rank, &group);
  const int rounds = atoi(argv[2]);
  for (int round = 1; round <= rounds; ++round) {
    MPI_File file;
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    expect_success(MPI_File_open(group, argv[1], mode, MPI_INFO_NULL, &file), "MPI_File_open");
    expect_success(MPI_File_write_at(file, (MPI_Offset)rank * distance, &round, sizeof round,
                                     MPI_BYTE, MPI_STATUS_IGNORE),
                   "MPI_File_write_at");
    const int mine = number_at(file, rank), next = number_at(file, (rank + 1) % ranks);
    if (mine != round || next < seen) {
      printf("rank %d, round %d: %d in its place, and %d after %d in the next\n", rank, round, mine,
             next, seen);
      ++wrong;
    }
    seen = next;
    expect_success(MPI_File_close(&file), "MPI_File_close");
  }
  MPI_Comm_free(&group);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
