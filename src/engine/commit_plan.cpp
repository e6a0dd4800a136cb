#include "engine/commit_plan.h"

namespace forebay {

void CommitPlan::add(FrameIndex frame, int64_t page_offset, Extent region) {
  const int64_t offset = page_offset + region.offset;
  if (runs_.empty() || runs_.back().extent.end() != offset) {
    runs_.push_back({{offset, 0}, static_cast<uint32_t>(parts_.size()), 0});
  }
  Run& run = runs_.back();
  run.extent.length += region.length;
  ++run.parts;
  parts_.push_back({frame, region.offset, region.length});
  bytes_ += region.length;
}

void CommitPlan::clear() {
  runs_.clear();
  parts_.clear();
  bytes_ = 0;
}

}  // namespace forebay
