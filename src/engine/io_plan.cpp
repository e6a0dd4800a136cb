#include "engine/io_plan.h"

#include <algorithm>

namespace forebay {

void IoPlan::add(FrameIndex frame, int64_t page_offset, Extent region, uint32_t staged) {
  const int64_t offset = page_offset + region.offset;
  if (runs_.empty() || runs_.back().extent.end() != offset) {
    runs_.push_back({{offset, 0}, static_cast<uint32_t>(parts_.size()), 0});
  }
  Run& run = runs_.back();
  run.extent.length += region.length;
  ++run.parts;
  parts_.push_back({frame, region.offset, region.length, staged});
  bytes_ += region.length;
}

void IoPlan::sort() {
  std::sort(runs_.begin(), runs_.end(),
            [](const Run& a, const Run& b) { return a.extent.offset < b.extent.offset; });
}

void IoPlan::clear() {
  runs_.clear();
  parts_.clear();
  bytes_ = 0;
}

}  // namespace forebay
