// Ranks of two nodes write, then all of them and the committers of both nodes are killed.
//
//   killed_nodes FILE JOB
//
// Each rank writes a record into chunk 0 and into chunk 1, which the two nodes own: they stay in
// the caches. Later than that rank 1 writes a long run past them.
#include <unistd.h>

#include "cached.h"
#include "check.h"
#include "kill_agents.h"

enum { kChunk = 1 << 16, kRecord = 100, kRun = 1 << 18, kRunBegins = 1 << 20 };

static void write_bytes(MPI_File file, MPI_Offset offset, int length) {
  unsigned char* const memory = malloc((size_t)length);
  fill_bytes(memory, offset, length);
  CHECK_MPI(MPI_File_write_at(file, offset, memory, length, MPI_BYTE, MPI_STATUS_IGNORE));
  free(memory);
}

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  CHECK(argc == 3);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int mine = getpid();
  int* const processes = malloc((size_t)ranks * sizeof(int));
  MPI_Allgather(&mine, 1, MPI_INT, processes, 1, MPI_INT, MPI_COMM_WORLD);
  MPI_File file;
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  CHECK(is_cached(file));
  for (int chunk = 0; chunk < 2; ++chunk)
    write_bytes(file, (MPI_Offset)chunk * kChunk + rank * kRecord, kRecord);
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(100000);  // more than clocks of file systems differ
  if (rank == 1) write_bytes(file, kRunBegins, kRun);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    CHECK(kill_agents(argv[2]) == 2);
    for (int other = 1; other < ranks; ++other) kill(processes[other], SIGKILL);
    kill(mine, SIGKILL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return 1;
}
