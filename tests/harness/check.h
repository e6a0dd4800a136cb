// What the test programs share: checks that end the whole job with the place that failed, and the
// bytes that they write.
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Ends the job with an exit status other than 0 unless `condition` holds.
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

// The byte that belongs at `position` of a file: never 0, and with no short period.
static inline unsigned char byte_at(int64_t position) {
  uint64_t mixed = (uint64_t)position * 0x9E3779B97F4A7C15u;
  return (unsigned char)(1 + (mixed >> 40) % 255);
}

// Fills `memory` with what belongs at [position, position + length) of a file.
static inline void fill_bytes(unsigned char* memory, int64_t position, int64_t length) {
  for (int64_t i = 0; i < length; ++i) memory[i] = byte_at(position + i);
}

// The number of bytes of `memory` that differ from what belongs at `position` of a file.
static inline int64_t wrong_bytes(const unsigned char* memory, int64_t position, int64_t length) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < length; ++i) wrong += memory[i] != byte_at(position + i);
  return wrong;
}
