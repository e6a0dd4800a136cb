// MPI-IO in a program that begins a session and never calls MPI_Init (MPI 4.1, section 11.3).
//
// Without MPI_Finalize Forebay never writes statistics. So if they are requested, the program
// itself checks that the file is in the cache.
//
// usage: sessions FOLDER ROUNDS   (sessions one after the other)
#include "cached.h"
#include "check.h"

enum { kBytes = 3001, kBlocks = 5 };

static void write_and_read(MPI_Comm comm, const char* path) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  unsigned char memory[kBytes];
  MPI_File file;
  if (MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) exit(3);
  if (getenv("FOREBAY_STATS_JSON") != NULL && !is_cached(file)) exit(8);
  for (int i = 0; i < kBlocks; ++i) {
    MPI_Offset place = ((MPI_Offset)i * size + rank) * kBytes;
    fill_bytes(memory, place, kBytes);
    if (MPI_File_write_at(file, place, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE)) exit(4);
  }
  MPI_File_sync(file);
  MPI_Barrier(comm);
  MPI_File_sync(file);
  for (int i = 0; i < kBlocks; ++i) {
    MPI_Offset place = ((MPI_Offset)i * size + (rank + 1) % size) * kBytes;
    if (MPI_File_read_at_all(file, place, memory, kBytes, MPI_BYTE, MPI_STATUS_IGNORE)) exit(5);
    if (wrong_bytes(memory, place, kBytes) != 0) exit(6);
  }
  if (MPI_File_close(&file)) exit(7);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (int round = 0; round < atoi(argv[2]); ++round) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session)) return 9;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "forebay", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    char path[4096];
    snprintf(path, sizeof path, "%s/session%d", argv[1], round);
    write_and_read(comm, path);
    int rank;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) printf("verified\n");
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
  }
  return 0;
}
