// The statistics of a job at MPI_Finalize (FOREBAY_STATS, FOREBAY_STATS_JSON).
#pragma once

#include <cstdint>
#include <vector>

#include "mpiio/file/file_statistics.h"
#include "mpiio/file/visibility.h"

namespace forebay::mpiio {

// What rank 0 knows of all ranks' files.
struct JobStatistics {
  int ranks = 0;
  int nodes = 0;
  int libfabric_ranks = 0;                      // whose own agents led them to others by libfabric
  int64_t memory_bytes = 0;                     // the most that caches took on a node
  int64_t memory_limit_bytes = 0;               // of the control group that bounds caches; 0: none
  int64_t bounded_cache_bytes = 0;              // each process's share of the bounded cache
  Visibility visibility = Visibility::at_once;  // the latest of all files
  std::vector<FileStatistics> files;  // in the order of their first close or open on a rank

  FileStatistics total() const;
};

// If the options ask for statistics, rank 0 of MPI_COMM_WORLD prints a table to stderr and writes
// the JSON file, both summed over all ranks; this waits for all ranks. Otherwise rank 0 tells the
// user if none of its files was cached, unless `forebay run` does.
void report_statistics();

}  // namespace forebay::mpiio
