// Strided reading with computation: ranks interleave 4 KiB records that together cover the file,
// 8,192 (--count) in all, and compute for 100 microseconds of processor time after each. The file
// exists before it is opened. The computation is also timed alone, as what no cache can go below.
#include "workload.h"

enum { RECORD = 4096 };

static void compute(void) {
  const double until = thread_cpu_seconds() + 100e-6;
  while (thread_cpu_seconds() < until) {
  }
}

static void make_input(const char* path, long long bytes) {
  const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (fd < 0) workload_fail("cannot create", path, MPI_SUCCESS);
  for (long long done = 0; done < bytes;) {
    const long long left = bytes - done;
    const ssize_t wrote = pwrite(fd, workload_bytes(done),
                                 (size_t)(left < LARGEST_ACCESS ? left : LARGEST_ACCESS), done);
    if (wrote <= 0) workload_fail("cannot write", path, MPI_SUCCESS);
    done += wrote;
  }
  if (close(fd) != 0) workload_fail("cannot close", path, MPI_SUCCESS);
}

static void run(struct repetition* r) {
  const long long records = r->count ? r->count : 8192;
  const long long mine = records / workload_ranks + (workload_rank < records % workload_ranks);
  const char* path = new_file(r, "strided-read");
  unsigned char* into = touched_memory((size_t)(mine * RECORD));
  r->file_bytes[0] = records * RECORD;
  if (workload_rank == 0) make_input(path, r->file_bytes[0]);

  phase_begin(r);
  for (long long i = 0; i < mine; ++i) compute();
  phase_end(r, "compute");

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_RDONLY);
  phase_end(r, "open");
  phase_begin(r);
  for (long long i = 0; i < mine; ++i) {
    read_at(r, file, (i * workload_ranks + workload_rank) * RECORD, RECORD, into + i * RECORD);
    compute();
  }
  phase_end(r, "read");
  phase_begin(r);
  workload_check(MPI_File_close(&file), "close", path);
  phase_end(r, "close");

  for (long long i = 0; i < mine; ++i)
    expect_bytes(r, into + i * RECORD, (i * workload_ranks + workload_rank) * RECORD, RECORD);
  free(into);
}

int main(int argc, char** argv) { return workload_main(argc, argv, "strided-read", run); }
