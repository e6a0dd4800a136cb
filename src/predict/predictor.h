// Read-ahead for one handle. A predictor is told of each access and answers with the extents to
// fetch before they are requested. It does no I/O.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "extent/extent.h"

namespace forebay {

// Extents of one length at equal steps, forward or backward, with holes between them.
struct ReadRow {
  Extent first;
  int64_t step = 0;
  int64_t count = 0;  // 0: there are none

  // From the lowest to the highest byte; empty if no file can have these.
  Extent span() const {
    int64_t way, last, end;
    if (count <= 0 || first.offset < 0 || __builtin_mul_overflow(count - 1, step, &way) ||
        __builtin_add_overflow(first.offset, way, &last) || last < 0)
      return {};
    const int64_t begin = std::min(first.offset, last);
    if (__builtin_add_overflow(std::max(first.offset, last), first.length, &end)) return {};
    return {begin, end - begin};
  }
};

class Predictor {
 public:
  virtual ~Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;

  // Takes an access, which is not empty and begins at byte 0 or later. Returns what to fetch now,
  // by offset, valid until the next call. A byte is predicted again only after it was used or given
  // up. A prediction may reach beyond the end of the file.
  virtual std::span<const Extent> access(Extent access) = 0;

  // Whether the predictor follows a rule at the moment.
  virtual bool predicts() const = 0;

  // How many of the next accesses the predictor need not be told of, because its predictions keep
  // failing. Whoever leaves accesses out says so by rested().
  virtual int64_t rests() const { return 0; }
  virtual void rested(int64_t /*accesses*/, int64_t /*bytes*/) {}

  // What access() would answer when the window has room again, for whoever fetches it before; no
  // row: nothing is known, the window is full, or it is no row with holes. It holds as long as
  // row_holds().
  virtual ReadRow next_row() { return {}; }
  virtual bool row_holds() const { return false; }
  // The row was fetched.
  virtual void row_fetched() {}

 protected:
  Predictor() = default;
};

struct PredictorSpec {
  const char* name;
  const char* meaning;
  // At most `largest_window_bytes` are fetched ahead of the last access (0: nothing at all).
  // FetchList joins the extents by `join_bytes`.
  std::unique_ptr<Predictor> (*make)(int64_t largest_window_bytes, int64_t join_bytes);
};

std::span<const PredictorSpec> predictors();
const PredictorSpec* find_predictor(std::string_view name);  // nullptr: no such predictor

}  // namespace forebay
