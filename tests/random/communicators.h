// Communicators of sets of ranks, made when first needed.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>

namespace random_io {

class Communicators {
 public:
  explicit Communicators(int ranks) : ranks_(ranks) {}
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  // Collective over `members`, a mask of ranks.
  MPI_Comm of(int64_t members);

 private:
  int ranks_;
  std::map<int64_t, MPI_Comm> made_;
};

}  // namespace random_io
