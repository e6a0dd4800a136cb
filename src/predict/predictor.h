// Read-ahead for one handle: told of each access, says what to fetch before it is asked for.
// Pure: extents in, extents out.
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

  // What to fetch now, by offset; good until the next access. Each byte that is predicted once more
  // was either used or given up meanwhile; what is predicted may reach beyond the end of the file.
  // `access` lies at or after byte 0 and is not empty.
  virtual std::span<const Extent> access(Extent access) = 0;

  // Whether it sees a rule that it goes by.
  virtual bool predicts() const = 0;

 protected:
  Predictor() = default;
};

struct PredictorSpec {
  const char* name;
  const char* meaning;
  // At most `largest_window_bytes` are fetched ahead of the last access (0: nothing ever), in
  // extents as FetchList joins them.
  std::unique_ptr<Predictor> (*make)(int64_t largest_window_bytes, int64_t join_bytes);
};

std::span<const PredictorSpec> predictors();
const PredictorSpec* find_predictor(std::string_view name);  // nullptr: no such predictor

}  // namespace forebay
