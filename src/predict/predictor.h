// Read-ahead for one handle. A predictor is told of each access and answers with the extents to
// fetch before they are requested. It does no I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "extent/extent.h"

namespace forebay {

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
