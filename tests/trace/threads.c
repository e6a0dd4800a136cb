// THREADS threads per rank write CALLS records each, one after the other, at places of their own:
// thread t of rank r writes the records from (r * THREADS + t) * CALLS on. Arguments: FILE THREADS
// CALLS.
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

enum { RECORD = 100 };

static MPI_File file;
static int calls;

static void* write_records(void* first) {
  unsigned char record[RECORD];
  const int64_t begin = *(const int64_t*)first;
  for (int64_t i = begin; i < begin + calls; ++i) {
    fill_bytes(record, i * RECORD, RECORD);
    CHECK_MPI(MPI_File_write_at(file, i * RECORD, record, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided, rank;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE && argc == 4);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int threads = atoi(argv[2]);
  calls = atoi(argv[3]);
  CHECK_MPI(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file));
  pthread_t* running = malloc((size_t)threads * sizeof *running);
  int64_t* first = malloc((size_t)threads * sizeof *first);
  for (int t = 0; t < threads; ++t) {
    first[t] = (int64_t)(rank * threads + t) * calls;
    CHECK(pthread_create(&running[t], NULL, write_records, &first[t]) == 0);
  }
  for (int t = 0; t < threads; ++t) pthread_join(running[t], NULL);
  free(first);
  free(running);
  CHECK_MPI(MPI_File_close(&file));
  MPI_Finalize();
  return 0;
}
