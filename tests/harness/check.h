// For test programs: checks that end the whole job and name the place that failed, and the bytes
// that the programs write.
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Ends the job with a nonzero exit status unless `condition` holds.
#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      int check_rank = -1;                                                                  \
      MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);                                           \
      fprintf(stderr, "%s:%d: rank %d: %s does not hold\n", __FILE__, __LINE__, check_rank, \
              #condition);                                                                  \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                         \
    }                                                                                       \
  } while (0)

// Ends the job unless `call` returns MPI_SUCCESS.
#define CHECK_MPI(call) CHECK((call) == MPI_SUCCESS)

// The byte at `position` of a file: never 0, and without a short period.
static inline unsigned char byte_at(int64_t position) {
  uint64_t mixed = (uint64_t)position * 0x9E3779B97F4A7C15u;
  return (unsigned char)(1 + (mixed >> 40) % 255);
}

// Fills `memory` with the bytes of [position, position + length).
static inline void fill_bytes(unsigned char* memory, int64_t position, int64_t length) {
  for (int64_t i = 0; i < length; ++i) memory[i] = byte_at(position + i);
}

// The number of bytes in `memory` that differ from those at `position` of a file.
static inline int64_t wrong_bytes(const unsigned char* memory, int64_t position, int64_t length) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < length; ++i) wrong += memory[i] != byte_at(position + i);
  return wrong;
}
