// The local trace signature of one stream of accesses (Yin III.B): what one thread did to one
// file, exactly, in as little room as its regularity allows.
//
// The sequence is cut into parts: a pattern at some place, a run of accesses that follow no pattern
// (kept as raw bytes), or accesses that were lost for want of memory. A pattern that comes again at
// other places is kept once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "pattern/pattern.h"
#include "pattern/walk.h"
#include "trace/bytes.h"

namespace forebay::pattern {

// Where a pattern begins within what broke another one off, its start is not known exactly, and the
// end of the part before stands for it.
struct Part {
  enum class Kind : uint8_t { pattern, raw, lost };

  Kind kind = Kind::raw;
  uint32_t pattern = 0;    // its number, of a pattern
  uint64_t first = 0;      // number of its first access in the whole sequence
  uint64_t accesses = 0;   // in it
  int64_t position = 0;    // offset of its first access, of a pattern
  uint64_t raw_begin = 0;  // of a raw run, in the raw bytes
  int64_t start_ns = unknown_time;
  int64_t end_ns = unknown_time;
};

struct Signature {
  std::vector<Pattern> patterns;  // unlike each other; the first access of each is at offset 0
  std::vector<Part> parts;        // in order
  trace::Bytes raw;

  uint64_t accesses = 0;  // made
  uint64_t covered = 0;   // of these, in patterns, which repeat at least three times
  uint64_t lost = 0;

  double coverage() const {
    return accesses == 0 ? 1 : static_cast<double>(covered) / static_cast<double>(accesses);
  }
  std::size_t memory_bytes() const;
};

// Reads the accesses of a signature one by one, from the one with a given number on. To start costs
// a binary search, a division a loop level, and up to `longest_raw_run` raw accesses passed over.
class Cursor {
 public:
  explicit Cursor(const Signature& signature, uint64_t index = 0);

  // The next access that is not lost; false at the end.
  bool next(Access& access);
  uint64_t index() const { return index_; }  // of the access that next() looks at

 private:
  void enter(uint64_t within);

  const Signature* signature_;
  std::size_t part_ = 0;
  uint64_t index_ = 0;
  uint64_t end_ = 0;  // index after the current part
  Walk walk_;
  int64_t position_ = 0;
  std::size_t raw_next_ = 0;
  Access previous_;
};

// Accesses by columns.
struct AccessColumns {
  std::vector<uint8_t> operation;
  std::vector<int64_t> offset, size;
};

// The accesses that a signature stands for, from the one with a given number on, at most so many;
// those that are lost are left out.
AccessColumns expand(const Signature& signature, uint64_t first = 0,
                     uint64_t most = std::numeric_limits<uint64_t>::max());

}  // namespace forebay::pattern
