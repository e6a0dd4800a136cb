// Writes to several files at once, then closes them or leaves them open.
//
//   leftovers END BYTES FILE...     END: close; kill: all ranks are killed with the files open;
//                                   wait: says "written", closes when its input ends
//
// Rank r writes BYTES bytes at r * BYTES of each file.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(int code) {
  if (code != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int bytes = atoi(argv[2]);
  char* memory = malloc((size_t)bytes);
  memset(memory, 'a' + rank, (size_t)bytes);
  const int files = argc - 3;
  MPI_File* file = malloc((size_t)files * sizeof *file);
  for (int i = 0; i < files; ++i) {
    check(MPI_File_open(MPI_COMM_WORLD, argv[3 + i], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                        &file[i]));
    check(MPI_File_write_at(file[i], (MPI_Offset)rank * bytes, memory, bytes, MPI_BYTE,
                            MPI_STATUS_IGNORE));
  }
  pid_t mine = getpid();
  pid_t* all = malloc((size_t)ranks * sizeof *all);
  MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(argv[1], "kill") == 0) {
    if (rank == 0) {
      for (int r = ranks - 1; r >= 0; --r) kill(all[r], SIGKILL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return 1;
  }
  if (strcmp(argv[1], "wait") == 0) {
    if (rank == 0) {
      puts("written");
      fflush(stdout);
      while (getchar() != EOF) continue;
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < files; ++i) check(MPI_File_close(&file[i]));
  MPI_Finalize();
  return 0;
}
