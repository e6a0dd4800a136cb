// The statistics of a job at MPI_Finalize (FOREBAY_STATS, FOREBAY_STATS_JSON).
#pragma once

#include <cstdint>
#include <vector>

#include "mpiio/file/file_statistics.h"

namespace forebay::mpiio {

// What rank 0 knows of all ranks.
struct JobStatistics {
  int ranks = 0;
  int nodes = 0;
  int64_t memory_bytes = 0;           // the most that caches took on one node, at their highest
  int64_t memory_limit_bytes = 0;     // of the control group that bounds caches, 0: none does
  int64_t bounded_cache_bytes = 0;    // of each process, then
  bool caches_apart = false;          // of the ranks of some file
  std::vector<FileStatistics> files;  // in the order of their first close or open on a rank

  FileStatistics total() const;
};

// If asked for: rank 0 of MPI_COMM_WORLD prints a table to stderr and writes the JSON file, both
// summed over all ranks. Waits for all ranks. Else rank 0 says if none of its files was cached,
// where `forebay run` is not there to say so.
void report_statistics();

}  // namespace forebay::mpiio
