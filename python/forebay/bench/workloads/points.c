// Scattered points: each rank has 100,000 (--count) separate 4-byte records, in no order that a
// stride describes, and writes and reads them in one collective call through one view.
#include "arrays.h"

enum { POINT = 4 };

static void run(struct repetition* r) {
  const int points = (int)(r->count ? r->count : 100000);
  const char* path = new_file(r, "points");
  const int bytes = points * POINT;
  int* places = malloc(sizeof *places * (size_t)(points + 1));
  unsigned char* from = touched_memory((size_t)bytes);
  unsigned char* into = touched_memory((size_t)bytes);
  if (!places) workload_fail("out of memory", path, MPI_SUCCESS);
  r->file_bytes[0] = (long long)bytes * workload_ranks;
  for (int i = 0; i < points; ++i) {
    // Of each group of records, one for each rank, this rank's is the one that the hash says.
    const int turn = (int)(workload_mix((uint64_t)i) % (uint64_t)workload_ranks);
    places[i] = i * workload_ranks + (workload_rank + turn) % workload_ranks;
    memcpy(from + (long long)i * POINT, workload_bytes((long long)places[i] * POINT), POINT);
  }
  MPI_Datatype point, type;
  MPI_Type_contiguous(POINT, MPI_BYTE, &point);
  MPI_Type_create_indexed_block(points, 1, places, point, &type);
  MPI_Type_commit(&type);

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  set_view(file, type, path);
  phase_end(r, "open");
  phase_begin(r);
  write_all_at(r, file, 0, from, bytes);
  phase_end(r, "write");
  phase_begin(r);
  read_at_all(r, file, 0, bytes, into);
  phase_end(r, "read");
  close_file(r, file, path);

  if (memcmp(from, into, (size_t)bytes) != 0) r->wrong = 1;
  MPI_Type_free(&type);
  MPI_Type_free(&point);
  free(places);
  free(from);
  free(into);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "points", run); }
