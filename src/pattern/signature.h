// The local trace signature of one stream of accesses (Yin III.B): exactly what one thread did to
// one file, in as little memory as the regularity of the accesses allows.
//
// The sequence is divided into parts: a pattern at some place, a run of accesses that follow no
// pattern (kept as raw bytes), or accesses that were lost because the memory limit was reached. A
// pattern that occurs again at other places is kept once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "pattern/pattern.h"
#include "pattern/walk.h"
#include "trace/bytes.h"

namespace forebay::pattern {

// If a pattern begins among accesses that had been predicted by another one, its start time is not
// known exactly, and the end of the part before is used.
struct Part {
  enum class Kind : uint8_t { pattern, raw, lost };

  Kind kind = Kind::raw;
  uint32_t pattern = 0;    // index of the pattern, of a pattern
  uint64_t first = 0;      // index of its first access in the whole sequence
  uint64_t accesses = 0;   // number of accesses in it
  int64_t position = 0;    // offset of its first access, of a pattern
  uint64_t raw_begin = 0;  // begin in the raw bytes, of a raw run
  int64_t start_ns = unknown_time;
  int64_t end_ns = unknown_time;
};

struct Signature {
  std::vector<Pattern> patterns;  // all different; the first access of each is at offset 0
  std::vector<Part> parts;        // in order
  trace::Bytes raw;

  uint64_t accesses = 0;  // all accesses, lost ones included
  uint64_t covered = 0;   // those in patterns, which repeat at least three times
  uint64_t lost = 0;

  double coverage() const {
    return accesses == 0 ? 1 : static_cast<double>(covered) / static_cast<double>(accesses);
  }
  std::size_t memory_bytes() const;
};

// Reads the accesses of a signature one by one, from a given index on. To start costs a binary
// search, a division per loop level, and skipping at most `longest_raw_run` raw accesses.
class Cursor {
 public:
  explicit Cursor(const Signature& signature, uint64_t index = 0);

  // The next access that is not lost. False: the end.
  bool next(Access& access);
  uint64_t index() const { return index_; }  // index of the next access, lost ones counted

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

// The accesses of a signature from index `first` on, at most `most`, without those that are lost.
AccessColumns expand(const Signature& signature, uint64_t first = 0,
                     uint64_t most = std::numeric_limits<uint64_t>::max());

}  // namespace forebay::pattern
