// A profiling tool like Darshan: a library preloaded in front of MPI. It counts calls and passes
// them on by their PMPI_ names. Rank 0 prints its counts in MPI_Finalize.
#include <mpi.h>
#include <stdio.h>

static int opens, writes, reads, closes;

int MPI_File_open(MPI_Comm comm, const char* path, int mode, MPI_Info info, MPI_File* file) {
  ++opens;
  return PMPI_File_open(comm, path, mode, info, file);
}

int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* memory, int count,
                      MPI_Datatype type, MPI_Status* status) {
  ++writes;
  return PMPI_File_write_at(file, offset, memory, count, type, status);
}

int MPI_File_read_at(MPI_File file, MPI_Offset offset, void* memory, int count, MPI_Datatype type,
                     MPI_Status* status) {
  ++reads;
  return PMPI_File_read_at(file, offset, memory, count, type, status);
}

int MPI_File_close(MPI_File* file) {
  ++closes;
  return PMPI_File_close(file);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    printf("tool: %d opens, %d writes, %d reads, %d closes\n", opens, writes, reads, closes);
  return PMPI_Finalize();
}
