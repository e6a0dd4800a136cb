// The statistics of this process's files, by name.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mpiio/file/handle.h"
#include "mpiio/file/uncached.h"

namespace forebay::mpiio {

// The statistics of a file, in one process or summed over several.
struct FileStatistics {
  std::string name;   // as the user gave it
  Statistics cached;  // what the cache did
  int64_t opens = 0;  // each rank's open counts
  int64_t cached_opens = 0;
  // The bytes that each owner node served, by its number; empty: it had no owners.
  std::vector<int64_t> owner_bytes;
  // How the bytes were assigned to them: by the assignment of this index in assignments(), in
  // chunks of this size. -1: it had no owners.
  int64_t domain = -1;
  int64_t chunk_bytes = 0;
  // Opens that were not cached, and data accesses that the MPI library carried out, by reason
  // (Uncached).
  std::array<int64_t, uncached_count> uncached_opens{};
  std::array<int64_t, uncached_count> uncached_calls{};

  void add(const FileStatistics& other);
  void add_calls(const UncachedCounts& calls);
};

// The entry with this name; a new one, at the end, if there is none.
FileStatistics& entry_of(std::vector<FileStatistics>& files, const std::string& name);

// The sizes of a cache that a control group's limit makes smaller than was asked for.
struct BoundedCache {
  int64_t limit_bytes = INT64_MAX;  // the group's limit
  int64_t cache_bytes = INT64_MAX;  // each process's share of the cache

  bool bounded() const { return limit_bytes != INT64_MAX; }
};

// Adds the statistics of a handle that is being closed.
void record_statistics(Handle& handle);

// Counts an open that is not cached: the MPI library has the file to itself. forget_uncached() at
// its close.
void record_uncached(MPI_File file, const std::string& name, Uncached why);
void forget_uncached(MPI_File file);

// The statistics of every file of this process, open ones too, in the order of their first close or
// open.
std::vector<FileStatistics> statistics_by_file();

// The sizes of the bounded cache whose file was closed last, if any was bounded.
BoundedCache bounded_cache();

}  // namespace forebay::mpiio
