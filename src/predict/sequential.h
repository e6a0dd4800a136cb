// Read-ahead for one handle: told of each access, says what to fetch before it is asked for.
//
// Recognises, with constant state and constant work an access:
//   contiguous   each access begins where the last one ended, whatever the lengths
//   strided      equal steps between equally long accesses, forward or backward
//   nested       runs of these that are equally long and themselves equal steps apart (rows of an
//                array block); where a run begins somewhere else, the rest of it is still predicted
// The window works as in kernel read-ahead: small at first, doubled with every further fetch while
// the predictions come true, closed at once when they do not. Pure: offsets in, extents out.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "extent/extent.h"

namespace forebay {

// `count` extents as long as `first`, `stride` bytes apart; stride may be negative.
struct ExtentRun {
  Extent first;
  int64_t stride = 0;
  int64_t count = 1;
  bool operator==(const ExtentRun&) const = default;
};

// What to fetch now; each byte that is predicted once more was either used or given up meanwhile.
class FetchList {
 public:
  std::span<const ExtentRun> runs() const { return {runs_.data(), size_}; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == runs_.size(); }
  void add(const ExtentRun& run) { runs_[size_++] = run; }

 private:
  std::array<ExtentRun, 4> runs_;
  std::size_t size_ = 0;
};

class SequentialPredictor {
 public:
  // At most `largest_window_bytes` are fetched ahead of the last access (0: nothing ever).
  // Predicted extents with holes of at most `join_bytes` between them become one extent that covers
  // them; the page size is a good choice, as a page is fetched as a whole.
  SequentialPredictor(int64_t largest_window_bytes, int64_t join_bytes);

  // `access` lies at or after byte 0 of the file and is not empty. What is returned may reach
  // beyond the end of the file.
  FetchList access(Extent access);

  int64_t window_bytes() const { return window_bytes_; }  // 0 while nothing is predicted

 private:
  // Accesses that follow each other by one rule. A unit is an access, or a byte if contiguous.
  struct Run {
    int64_t start = 0;        // offset of its first unit
    int64_t units = 0;        // seen so far
    int64_t step = 0;         // bytes from unit to unit
    int64_t unit_length = 0;  // bytes
    int64_t accesses = 0;
    bool contiguous = false;

    bool continued_by(Extent access, Extent last) const;
    bool confirmed() const { return accesses >= (contiguous ? 2 : 3); }
    bool same_shape(const Run& other) const;
    int64_t units_of(Extent access) const { return contiguous ? access.length : 1; }
    void begin_at(Extent access);
    void take(Extent access);
  };

  void begin_run(Extent access);
  bool next_row(Extent access);
  bool complete_row() const { return row_units_ > 0 && run_.units == row_units_; }
  void used(int64_t units);
  void close_window();
  FetchList fetch();
  ExtentRun units_from(int64_t index, int64_t count) const;
  int64_t unit_cost_bytes() const;

  const int64_t largest_window_bytes_;
  const int64_t join_bytes_;

  bool started_ = false;
  Extent last_;
  Run run_;                // the accesses since the rule changed
  Run previous_;           // the confirmed run before it, no accesses if none
  int64_t row_units_ = 0;  // units of every run when nested, else 0
  int64_t row_step_ = 0;   // bytes from run to run
  bool row_step_holds_ = false;

  int64_t window_bytes_ = 0;
  int64_t issued_units_ = 0;  // fetched beyond the last access
};

}  // namespace forebay
