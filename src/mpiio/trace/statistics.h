// Statistics of this process's files by name, and the report at MPI_Finalize (FOREBAY_STATS,
// FOREBAY_STATS_JSON).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mpiio/file/handle.h"
#include "mpiio/file/uncached.h"

namespace forebay::mpiio {

// What became of a file, of one process or of several.
struct FileStatistics {
  std::string name;            // as the user gave it
  runtime::Statistics cached;  // what the cache did
  int64_t opens = 0;           // of each rank
  int64_t cached_opens = 0;
  // Of the others, and of data accesses that the MPI library carried out, by reason (Uncached).
  std::array<int64_t, uncached_count> uncached_opens{};
  std::array<int64_t, uncached_count> uncached_calls{};

  void add(const FileStatistics& other);
  void add_calls(const UncachedCounts& calls);
};

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

// Adds what a handle that is being closed did.
void record_statistics(Handle& handle);

// The MPI library opened the file and has it to itself; `forget_uncached` when it is closed.
void record_uncached(MPI_File file, const std::string& name, Uncached why);
void forget_uncached(MPI_File file);

// Every file of this process, open handles included, in the order of their first close or open.
std::vector<FileStatistics> statistics_by_file();

// If asked for: rank 0 of MPI_COMM_WORLD prints a table to stderr and writes the JSON file, both
// summed over all ranks. Waits for all ranks. Else rank 0 says if none of its files was cached,
// where `forebay run` is not there to say so.
void report_statistics();

}  // namespace forebay::mpiio
