// Two ranks with separate caches (scope process) and separate handles of one file. Rank 1 writes
// the second half and keeps it open; later rank 0 writes and closes the first half. Then both are
// killed.
//
//   siblings FILE BYTES     each half has BYTES bytes, 'a' and 'b'
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(int code) {
  if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int bytes = atoi(argv[2]);
  char* memory = malloc((size_t)bytes);
  memset(memory, 'a' + rank, (size_t)bytes);
  pid_t other, mine = getpid();
  MPI_Sendrecv(&mine, sizeof mine, MPI_BYTE, 1 - rank, 0, &other, sizeof other, MPI_BYTE, 1 - rank,
               0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_File file;
  check(
      MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  if (rank == 1) check(MPI_File_write_at(file, bytes, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    usleep(300000);
    check(MPI_File_write_at(file, 0, memory, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
    check(MPI_File_close(&file));
    kill(other, SIGKILL);
    kill(mine, SIGKILL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return 1;
}
