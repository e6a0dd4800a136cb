#include "predict/sequential.h"

#include <algorithm>
#include <cstdlib>

namespace forebay {
namespace {

constexpr int64_t first_window_bytes = 64 << 10;
constexpr int64_t first_window_accesses = 4;

}  // namespace

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

SequentialPredictor::SequentialPredictor(int64_t largest_window_bytes, int64_t join_bytes)
    : largest_window_bytes_(largest_window_bytes), join_bytes_(join_bytes) {}

FetchList SequentialPredictor::access(Extent access) {
  if (!started_ || access == last_) {  // the same bytes again say nothing about what is next
    started_ = true;
    last_ = access;
    return {};
  }
  if (complete_row() && next_row(access)) {
    used(run_.units_of(access));
  } else if (run_.accesses > 0 && run_.continued_by(access, last_)) {
    if (complete_row()) {  // this run is longer than the ones before it
      row_units_ = 0;
      close_window();
    }
    run_.take(access);
    used(run_.units_of(access));
  } else {
    begin_run(access);
  }
  last_ = access;
  return fetch();
}

// A row that begins where none was expected is taken for one all the same, if it begins anywhere
// but where the run would have gone on: in an array of more dimensions every so many rows one does.
bool SequentialPredictor::next_row(Extent access) {
  const int64_t step = access.offset - run_.start;
  const bool expected = step == row_step_;
  if (!expected && (run_.continued_by(access, last_) || !row_step_holds_)) return false;
  if (!run_.contiguous && access.length != run_.unit_length) return false;
  if (!expected) close_window();
  row_step_holds_ = expected;
  run_.begin_at(access);
  run_.accesses = previous_.accesses;  // its rule is known
  return true;
}

// The rule of the current run does not hold any more.
void SequentialPredictor::begin_run(Extent access) {
  close_window();
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
      return;
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
}

void SequentialPredictor::used(int64_t units) {
  issued_units_ = std::max<int64_t>(issued_units_ - units, 0);
}

void SequentialPredictor::close_window() {
  window_bytes_ = 0;
  issued_units_ = 0;
}

// What fetching a unit takes of the window: its bytes and the hole to the next one, or, where holes
// are left out, up to a page that is fetched with it.
int64_t SequentialPredictor::unit_cost_bytes() const {
  return std::max(run_.unit_length, std::min(std::abs(run_.step), run_.unit_length + join_bytes_));
}

FetchList SequentialPredictor::fetch() {
  FetchList list;
  if (!run_.confirmed() || largest_window_bytes_ <= 0) return list;
  const int64_t cost = unit_cost_bytes();
  // Half of the window is left: time for the next half, so that it is there when it is needed.
  if (window_bytes_ > 0 && issued_units_ * cost > window_bytes_ / 2) return list;
  const int64_t first =
      std::max(first_window_bytes, first_window_accesses * std::max(cost, last_.length));
  window_bytes_ = std::min(window_bytes_ == 0 ? first : 2 * window_bytes_, largest_window_bytes_);
  const int64_t wanted = window_bytes_ / cost;
  while (issued_units_ < wanted && !list.full()) {
    const int64_t index = run_.units + issued_units_;
    int64_t count = wanted - issued_units_;
    if (row_units_ > 0) {
      if (!row_step_holds_ && index >= row_units_) break;
      count = std::min(count, row_units_ - index % row_units_);
    }
    const ExtentRun run = units_from(index, count);
    if (run.count <= 0) break;
    list.add(run);
    issued_units_ += count;
  }
  return list;
}

// Units index .. index + count - 1, counted from the beginning of the current run and going on in
// the rows after it; all of them in one row. Those before the beginning of the file are left out.
ExtentRun SequentialPredictor::units_from(int64_t index, int64_t count) const {
  int64_t start = run_.start;
  if (row_units_ > 0) {
    start += index / row_units_ * row_step_;
    index %= row_units_;
  }
  const Extent first{start + index * run_.step, run_.unit_length};
  if (first.offset < 0) return {first, run_.step, 0};
  if (run_.step < 0) count = std::min(count, first.offset / -run_.step + 1);
  const int64_t reach = (count - 1) * run_.step;
  if (std::abs(run_.step) > run_.unit_length + join_bytes_) return {first, run_.step, count};
  return {{first.offset + std::min<int64_t>(reach, 0), std::abs(reach) + first.length}, 0, 1};
}

}  // namespace forebay
