#include "engine/io_plan.h"

#include <algorithm>
#include <utility>

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

// Grows in steps, like a vector: it is called for each page.
void IoPlan::reserve(std::size_t regions) {
  const auto grow = [regions](auto& list) {
    const std::size_t needed = list.size() + regions;
    if (needed > list.capacity()) list.reserve(std::max(needed, 2 * list.capacity()));
  };
  grow(runs_);
  grow(parts_);
}

void IoPlan::sort() {
  std::sort(runs_.begin(), runs_.end(),
            [](const Run& a, const Run& b) { return a.extent.offset < b.extent.offset; });
}

void IoPlan::merge(std::span<const Received> received) {
  for (const Received& run : received)
    add(no_frame, run.extent.offset - run.in_message, {run.in_message, run.extent.length},
        run.message);
  sort();
  IoPlan united;
  united.reserve(parts_.size());
  for (const Run& run : runs_) {
    int64_t offset = run.extent.offset;
    for (uint32_t p = run.first_part; p < run.first_part + run.parts; ++p) {
      const Part& part = parts_[p];
      united.add(part.frame, offset - part.in_page, {part.in_page, part.length}, part.staged);
      offset += part.length;
    }
  }
  *this = std::move(united);
}

void IoPlan::clear() {
  runs_.clear();
  parts_.clear();
  bytes_ = 0;
}

}  // namespace forebay
