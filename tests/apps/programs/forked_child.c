// A rank forks while its written bytes may still be cached. Children that end by exit, by _exit or
// by exec must neither commit nor damage the parent's bytes, nor end its helper threads.
//
// usage: forked_child FOLDER
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { kPiece = 777, kRounds = 60 };

static void fork_child(int kind) {
  fflush(stdout);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    if (kind % 3 == 0) exit(0);
    if (kind % 3 == 1) _exit(0);
    execl("/bin/true", "true", (char*)NULL);
    _exit(9);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 2);
  char path[4096];
  snprintf(path, sizeof path, "%s/forked", argv[1]);
  MPI_File file;
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  unsigned char memory[kPiece];
  for (int round = 0; round < kRounds; ++round) {
    MPI_Offset place = ((MPI_Offset)round * size + rank) * kPiece;
    fill_bytes(memory, place, kPiece);
    CHECK_MPI(MPI_File_write_at(file, place, memory, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
    if (round % 20 == 10) fork_child(round / 20);
  }
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Offset place = ((MPI_Offset)round * size + (rank + 1) % size) * kPiece;
    CHECK_MPI(MPI_File_read_at(file, place, memory, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(wrong_bytes(memory, place, kPiece) == 0);
  }
  CHECK_MPI(MPI_File_close(&file));
  if (rank == 0) printf("verified\n");
  MPI_Finalize();
  return 0;
}
