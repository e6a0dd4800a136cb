// Records of one size. Every rank writes its own, with one call each, and reads them back through
// the same handle. The calls are independent; with --variant collective they are collective.
#pragma once

#include "workload.h"

enum arrangement {
  INTERLEAVED,  // record i of rank r is the file's record i * ranks + r
  IN_PARTS,     // the records of a rank follow each other
};

// Makes one file of the repetition, in which this rank has `mine` of `all` records; with IN_PARTS
// all ranks have equally many.
static inline void records(struct repetition* r, const char* name, enum arrangement arrangement,
                           long long mine, long long all, int bytes) {
  const long long first = arrangement == IN_PARTS ? workload_rank * mine : workload_rank;
  const long long step = arrangement == IN_PARTS ? 1 : workload_ranks;
  const char* path = new_file(r, name);
  const int collective = strcmp(workload_variant, "collective") == 0;
  const long long calls = collective ? (all + workload_ranks - 1) / workload_ranks : mine;
  unsigned char* into = touched_memory((size_t)(mine * bytes));
  r->file_bytes[0] = all * bytes;

  phase_begin(r);
  MPI_File file = open_file(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  phase_end(r, "open");
  phase_begin(r);
  for (long long i = 0; i < calls; ++i) {
    const int own = i < mine ? bytes : 0;
    (collective ? write_at_all : write_at)(r, file, (first + i * step) * bytes, own);
  }
  phase_end(r, "write");
  phase_begin(r);
  for (long long i = 0; i < calls; ++i) {
    const int own = i < mine ? bytes : 0;
    (collective ? read_at_all : read_at)(r, file, (first + i * step) * bytes, own,
                                         into + (i < mine ? i * bytes : 0));
  }
  phase_end(r, "read");
  close_file(r, file, path);

  for (long long i = 0; i < mine; ++i)
    expect_bytes(r, into + i * bytes, (first + i * step) * bytes, bytes);
  free(into);
}

// `all` records of all ranks together, interleaved.
static inline void interleaved_records(struct repetition* r, const char* name, long long all,
                                       int bytes) {
  const long long mine = all / workload_ranks + (workload_rank < all % workload_ranks);
  records(r, name, INTERLEAVED, mine, all, bytes);
}

// `mine` records of each rank, in a part of its own.
static inline void records_in_parts(struct repetition* r, const char* name, long long mine,
                                    int bytes) {
  records(r, name, IN_PARTS, mine, mine * workload_ranks, bytes);
}
