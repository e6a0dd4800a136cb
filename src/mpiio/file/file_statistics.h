// What became of this process's files, by name.
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
  std::string name;   // as the user gave it
  Statistics cached;  // what the cache did
  int64_t opens = 0;  // of each rank
  int64_t cached_opens = 0;
  // Of the others, and of data accesses that the MPI library carried out, by reason (Uncached).
  std::array<int64_t, uncached_count> uncached_opens{};
  std::array<int64_t, uncached_count> uncached_calls{};

  void add(const FileStatistics& other);
  void add_calls(const UncachedCounts& calls);
};

// That of the name; at the end a new one where there is none.
FileStatistics& entry_of(std::vector<FileStatistics>& files, const std::string& name);

// A cache that its control group keeps smaller than was asked for.
struct BoundedCache {
  int64_t limit_bytes = INT64_MAX;  // the group's
  int64_t cache_bytes = INT64_MAX;  // of each process

  bool bounded() const { return limit_bytes != INT64_MAX; }
};

// Adds what a handle that is being closed did.
void record_statistics(Handle& handle);

// The MPI library opened the file and has it to itself; `forget_uncached` when it is closed.
void record_uncached(MPI_File file, const std::string& name, Uncached why);
void forget_uncached(MPI_File file);

// Every file of this process, open handles included, in the order of their first close or open.
std::vector<FileStatistics> statistics_by_file();

// That of the file that was closed last, of those whose caches were bounded, if any was.
BoundedCache bounded_cache();

}  // namespace forebay::mpiio
