#include "predict/sequential.h"

#include <algorithm>

namespace forebay {

bool SequentialPredictor::Run::continued_by(Extent access, Extent last) const {
  if (contiguous) return access.offset == last.end();
  return access.offset - last.offset == step && access.length == unit_length;
}

bool SequentialPredictor::Run::same_shape(const Run& other) const {
  return units == other.units && step == other.step && unit_length == other.unit_length;
}

void SequentialPredictor::Run::begin_at(Extent access) {
  start = access.offset;
  units = units_of(access);
  accesses = 1;
}

void SequentialPredictor::Run::take(Extent access) {
  units += units_of(access);
  ++accesses;
}

bool SequentialPredictor::learn(Extent access) {
  if (!started_ || access == last_) {  // reading the same bytes again tells nothing about the next
                                       // ones
    const bool again = started_;
    started_ = true;
    last_ = access;
    return again;
  }
  bool expected = true;
  if (complete_row() && next_row(access)) {
    expected = row_step_holds_;
    used(run_.units_of(access));
  } else if (run_.accesses > 0 && run_.continued_by(access, last_)) {
    if (complete_row()) {  // this run is longer than the runs before it
      row_units_ = 0;
      window_.close();
    }
    run_.take(access);
    used(run_.units_of(access));
  } else {
    expected = begin_run(access);
  }
  last_ = access;
  return expected;
}

// Takes a row that begins at an unexpected place for a row, too, unless the run would have
// continued there. In arrays of more dimensions, every so many rows one begins elsewhere.
bool SequentialPredictor::next_row(Extent access) {
  const int64_t step = access.offset - run_.start;
  const bool expected = step == row_step_;
  if (!expected && (run_.continued_by(access, last_) || !row_step_holds_)) return false;
  if (!run_.contiguous && access.length != run_.unit_length) return false;
  if (!expected) window_.close();
  row_step_holds_ = expected;
  run_.begin_at(access);
  run_.accesses = previous_.accesses;  // the rule is known from the row before
  return true;
}

// Begins a run, because the access breaks the rule of the current one. Returns whether the access
// was expected: it begins the third of three equal rows.
bool SequentialPredictor::begin_run(Extent access) {
  window_.close();
  row_units_ = 0;
  if (run_.confirmed()) {
    const int64_t step = access.offset - run_.start;
    const bool nested = previous_.accesses > 0 && run_.same_shape(previous_) &&
                        step == run_.start - previous_.start &&
                        (run_.contiguous || access.length == run_.unit_length);
    previous_ = run_;
    if (nested) {
      row_units_ = run_.units;
      row_step_ = step;
      row_step_holds_ = true;
      run_.begin_at(access);
      run_.accesses = previous_.accesses;
      return true;
    }
  }
  const int64_t step = access.offset - last_.offset;
  run_ = {};
  if (access.offset == last_.end()) {
    run_ = {last_.offset, last_.length, 1, 1, 1, true};
    run_.take(access);
  } else if (access.length == last_.length) {
    run_ = {last_.offset, 1, step, access.length, 1, false};
    run_.take(access);
  }
  return false;
}

int64_t SequentialPredictor::unit_cost_bytes() const {
  return fetch_.cost_bytes({0, run_.unit_length}, {run_.step, run_.unit_length});
}

std::span<const Extent> SequentialPredictor::look_ahead() {
  fetch_.clear();
  if (!run_.confirmed()) return {};
  const int64_t cost = unit_cost_bytes();
  const int64_t first_window = first_window_accesses * std::max(cost, last_.length);
  int64_t units = window_.wanted(first_window) / cost;
  while (units > 0) {
    const int64_t index = run_.units + window_.issued_bytes() / cost;
    int64_t count = units;
    if (row_units_ > 0) {
      if (!row_step_holds_ && index >= row_units_) break;
      count = std::min(count, row_units_ - index % row_units_);
    }
    add_units(index, count);
    window_.issued(count * cost);
    units -= count;
  }
  return fetch_.sorted();
}

ReadRow SequentialPredictor::next_row() {
  if (!run_.confirmed() || run_.contiguous || !fetch_.leaves_holes(run_.unit_length, run_.step))
    return {};
  const int64_t cost = unit_cost_bytes();
  int64_t count = window_.wanted_next() / cost;
  const int64_t index = run_.units + window_.issued_bytes() / cost;
  if (row_units_ > 0) {
    if (!row_step_holds_ && index >= row_units_) return {};
    count = std::min(count, row_units_ - index % row_units_);
  }
  if (count == 0) return {};
  const ReadRow row{{offset_of(index), run_.unit_length}, run_.step, count};
  if (row.span().empty()) return {};
  window_.promise(count * cost);
  return row;
}

// Units are counted from the beginning of the current run and continue in the rows after it. Sums
// wrap around: a predicted offset may be impossible.
int64_t SequentialPredictor::offset_of(int64_t index) const {
  auto start = static_cast<uint64_t>(run_.start);
  if (row_units_ > 0) {
    start += static_cast<uint64_t>(index / row_units_) * static_cast<uint64_t>(row_step_);
    index %= row_units_;
  }
  start += static_cast<uint64_t>(index) * static_cast<uint64_t>(run_.step);
  return static_cast<int64_t>(start);
}

// Adds units index .. index + count - 1, all of one row.
void SequentialPredictor::add_units(int64_t index, int64_t count) {
  if (run_.contiguous) return fetch_.add({offset_of(index), count});
  fetch_.add_row({offset_of(index), run_.unit_length}, run_.step, count);
}

}  // namespace forebay
