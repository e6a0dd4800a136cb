#include "trace/views.h"

#include <utility>

#include "trace/job.h"

namespace forebay::trace {

Runs::Runs(Tiling tiling, int64_t position, int64_t bytes)
    : tiling_(std::move(tiling)),
      exist_(place_of(tiling_, position, bytes).offset >= 0),
      cursor_(tiling_, exist_ ? position : 0),
      left_(exist_ ? bytes : 0) {}

bool Runs::next(Extent& run) {
  if (left_ <= 0) return false;
  run = cursor_.next(left_);
  left_ -= run.length;
  return true;
}

}  // namespace forebay::trace
