// Which processes access the same bytes of a file: the number of bytes for each set of processes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace forebay::trace {

struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;  // one past the last byte
};

// The bytes that exactly these processes access.
struct SharedBytes {
  std::vector<uint32_t> processes;  // ascending; at least two
  uint64_t bytes = 0;
  uint64_t ranges = 0;
  ByteRange within;
};

// The bytes that more than one process accesses.
struct Sharing {
  std::vector<SharedBytes> sets;  // the set with the most bytes first
  uint64_t bytes = 0;             // in all
  uint64_t left_out = 0;  // bytes of sets that are not listed, because there are too many sets
  std::vector<ByteRange> ranges;  // ascending, none adjacent
};

// `touched`: the ranges that each process accesses, in any order; those of one process may overlap.
// `most_sets`: the largest number of sets to list. Takes O(n log n) time, and memory for the
// ranges.
Sharing sharing_of(std::map<uint32_t, std::vector<ByteRange>> touched, std::size_t most_sets);

}  // namespace forebay::trace
