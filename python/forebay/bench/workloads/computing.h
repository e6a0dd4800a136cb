// For workloads that read a file and compute between the reads. The file exists before it is
// opened. Phases: the computation alone (no cache can be faster); open, read (with the computation)
// and close.
#pragma once

#include "workload.h"

struct place {
  long long offset;
  int bytes;
};

static inline void compute(double seconds) {  // of processor time
  const double until = thread_cpu_seconds() + seconds;
  while (thread_cpu_seconds() < until) {
  }
}

static inline void make_input(const char* path, long long bytes) {
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

// This rank makes `reads` reads of a file of so many bytes, by independent or collective calls, and
// computes for so many seconds after each; nth_read(i) is the place of number i.
static inline void read_and_compute(struct repetition* r, const char* name, long long file_bytes,
                                    long long reads, struct place (*nth_read)(long long i),
                                    int collective, double seconds) {
  const char* path = new_file(r, name);
  long long all = 0;
  for (long long i = 0; i < reads; ++i) all += nth_read(i).bytes;
  unsigned char* const into = touched_memory((size_t)all);
  r->file_bytes[0] = file_bytes;
  if (workload_rank == 0) make_input(path, file_bytes);

  phase_begin(r);
  for (long long i = 0; i < reads; ++i) compute(seconds);
  phase_end(r, "compute");

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_RDONLY);
  phase_end(r, "open");
  phase_begin(r);
  unsigned char* next = into;
  for (long long i = 0; i < reads; ++i) {
    const struct place place = nth_read(i);
    if (collective)
      read_at_all(r, file, place.offset, place.bytes, next);
    else
      read_at(r, file, place.offset, place.bytes, next);
    compute(seconds);
    next += place.bytes;
  }
  phase_end(r, "read");
  close_file(r, file, path);

  next = into;
  for (long long i = 0; i < reads; ++i) {
    const struct place place = nth_read(i);
    expect_bytes(r, next, place.offset, place.bytes);
    next += place.bytes;
  }
  free(into);
}
