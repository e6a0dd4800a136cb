// Which processes touch the same bytes of a file: the bytes by the set of processes that touch
// them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace forebay::trace {

struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;  // one past the last byte
};

// The bytes that these processes touch, and no others.
struct SharedBytes {
  std::vector<uint32_t> processes;  // ascending; two at least
  uint64_t bytes = 0;
  uint64_t ranges = 0;
  ByteRange within;
};

struct Sharing {
  std::vector<SharedBytes> sets;  // those with the most bytes first
  uint64_t bytes = 0;             // that more than one process touches
  uint64_t left_out = 0;          // of these, of sets that are not listed, there being too many
  std::vector<ByteRange> ranges;  // that more than one process touches, ascending, none adjacent
};

// What each process touches, in any order; ranges of one process may overlap. At most so many sets
// are told apart. n log n, with memory for the ranges.
Sharing sharing_of(std::map<uint32_t, std::vector<ByteRange>> touched, std::size_t most_sets);

}  // namespace forebay::trace
