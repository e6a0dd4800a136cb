// A checkpoint of records, as codes write it through PnetCDF without collective calls: 24 (--count)
// variables. Of each variable every rank writes 64 records of some 25 KB, unaligned, beside the
// records of the other ranks. Then each rank reads its records back through a new handle, as at a
// restart.
#include "workload.h"

enum { RECORDS = 64, HEADER = 1212 };

static int record_bytes(long long variable) { return 22001 + (int)(variable * 331 % 6007); }

// The file offset of a record of this rank.
static long long place(long long variable, long long record) {
  long long at = HEADER;
  for (long long v = 0; v < variable; ++v)
    at += (long long)record_bytes(v) * RECORDS * workload_ranks;
  return at + (record * workload_ranks + workload_rank) * record_bytes(variable);
}

static void run(struct repetition* r) {
  const long long variables = r->count ? r->count : 24;
  const char* path = new_file(r, "zz-checkpoint");
  const int longest = 22001 + 6007;
  unsigned char* into = touched_memory((size_t)(variables * RECORDS * longest));

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  phase_end(r, "open");
  phase_begin(r);
  if (workload_rank == 0) write_at(r, file, 0, HEADER);
  for (long long v = 0; v < variables; ++v)
{ for (long long i = 0; i < RECORDS; ++i) write_at(r, file, place(v, i), record_bytes(v)); if (getenv("BAR")) MPI_Barrier(MPI_COMM_WORLD); }
  phase_end(r, "write");
  close_file(r, file, path);

  phase_begin(r);
  file = open_file(path, MPI_MODE_RDONLY);
  phase_end(r, "reopen");
  phase_begin(r);
  unsigned char* next = into;
  for (long long v = 0; v < variables; ++v)
    for (long long i = 0; i < RECORDS; ++i, next += longest)
      read_at(r, file, place(v, i), record_bytes(v), next);
  phase_end(r, "read");
  phase_begin(r);
  workload_check(MPI_File_close(&file), "close", path);
  phase_end(r, "reclose");

  next = into;
  for (long long v = 0; v < variables; ++v)
    for (long long i = 0; i < RECORDS; ++i, next += longest)
      expect_bytes(r, next, place(v, i), record_bytes(v));
  free(into);
  r->file_bytes[0] = HEADER;
  for (long long v = 0; v < variables; ++v)
    r->file_bytes[0] += (long long)record_bytes(v) * RECORDS * workload_ranks;
}

int main(int argc, char** argv) { return workload_main(argc, argv, "zz-checkpoint", run); }
