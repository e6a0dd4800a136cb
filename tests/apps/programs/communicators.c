// Several communicators have one file open at once: all ranks, each rank alone, the halves of an
// intercommunicator. Their writes are disjoint and share pages. The file is verified through other
// handles than those that wrote.
//
// usage: communicators FOLDER
#include "check.h"

enum { kPiece = 301, kRounds = 40, kWriters = 3 };

static int rank, size;

static MPI_File open_file(MPI_Comm comm, const char* path) {
  MPI_File file;
  CHECK_MPI(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  return file;
}

// The piece of a round that a rank writes through its n-th handle.
static MPI_Offset place(int round, int r, int n) {
  return (((MPI_Offset)round * size + r) * kWriters + n) * kPiece;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(argc == 2);
  char path[4096];
  snprintf(path, sizeof path, "%s/shared", argv[1]);

  // With one rank there is no second group; then the half is used alone.
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Comm group_comm = half;
  MPI_Comm between = MPI_COMM_NULL;
  if (size > 1) {
    MPI_Group group;
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, (rank + 1) % 2, 5, &between);
    MPI_Comm_group(between, &group);  // of an intercommunicator: the local group
    MPI_Comm_create(half, group, &group_comm);
    MPI_Group_free(&group);
  }

  MPI_File files[kWriters] = {open_file(MPI_COMM_WORLD, path), open_file(MPI_COMM_SELF, path),
                              open_file(group_comm, path)};
  unsigned char memory[kPiece];
  for (int round = 0; round < kRounds; ++round)
    for (int n = 0; n < kWriters; ++n) {
      fill_bytes(memory, place(round, rank, n), kPiece);
      CHECK_MPI(MPI_File_write_at(files[n], place(round, rank, n), memory, kPiece, MPI_BYTE,
                                  MPI_STATUS_IGNORE));
    }
  for (int n = 0; n < kWriters; ++n) CHECK_MPI(MPI_File_sync(files[n]));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int n = 0; n < kWriters; ++n) CHECK_MPI(MPI_File_sync(files[n]));
  for (int round = 0; round < kRounds; ++round)
    for (int n = 0; n < kWriters; ++n) {
      MPI_Offset there = place(round, (rank + 1) % size, n);
      CHECK_MPI(MPI_File_read_at(files[(n + 1) % kWriters], there, memory, kPiece, MPI_BYTE,
                                 MPI_STATUS_IGNORE));
      CHECK(wrong_bytes(memory, there, kPiece) == 0);
    }
  for (int n = 0; n < kWriters; ++n) CHECK_MPI(MPI_File_close(&files[n]));
  if (group_comm != half) MPI_Comm_free(&group_comm);
  if (between != MPI_COMM_NULL) MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("verified\n");
  MPI_Finalize();
  return 0;
}
