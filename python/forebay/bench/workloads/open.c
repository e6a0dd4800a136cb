// Opening and closing a file that exists: 400 (--count) times, each time with one 8-byte write at a
// place of the rank's own, like a library that opens a file for every small change; then as often
// only for reading.
#include "workload.h"

enum { WORD = 8 };

static void run(struct repetition* r) {
  const long long times = r->count ? r->count : 400;
  const char* path = new_file(r, "open");
  unsigned char into[WORD];
  r->file_bytes[0] = times * workload_ranks * WORD;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  MPI_File file = open_file(path, mode);
  workload_check(MPI_File_close(&file), "close", path);

  phase_begin(r);
  for (long long i = 0; i < times; ++i) {
    file = open_file(path, mode);
    write_at(r, file, (i * workload_ranks + workload_rank) * WORD, WORD);
    workload_check(MPI_File_close(&file), "close", path);
  }
  phase_end(r, "write");
  phase_begin(r);
  for (long long i = 0; i < times; ++i) {
    file = open_file(path, MPI_MODE_RDONLY);
    read_at(r, file, (i * workload_ranks + workload_rank) * WORD, WORD, into);
    expect_bytes(r, into, (i * workload_ranks + workload_rank) * WORD, WORD);
    workload_check(MPI_File_close(&file), "close", path);
  }
  phase_end(r, "read");
}

int main(int argc, char** argv) { return workload_main(argc, argv, "open", run); }
