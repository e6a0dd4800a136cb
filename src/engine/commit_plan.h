// Turns the dirty regions of many pages into the fewest contiguous requests: regions that touch in
// the file become one, whatever page or rank they came from.
// Settlemyer 4.2.1.1: the evictions of one request leave as one list.
#pragma once

#include <cstdint>
#include <vector>

#include "extent/extent.h"
#include "policy/policy.h"

namespace forebay {

class CommitPlan {
 public:
  struct Run {  // a contiguous file extent, made of parts [first_part, first_part + parts)
    Extent extent;
    uint32_t first_part;
    uint32_t parts;
  };
  struct Part {  // bytes of one frame
    FrameIndex frame;
    int64_t in_page;  // offset within the page
    int64_t length;
  };

  // Regions come in ascending file order: pages ascending, regions ascending within each.
  void add(FrameIndex frame, int64_t page_offset, Extent region_in_page);
  void clear();

  const std::vector<Run>& runs() const { return runs_; }
  const std::vector<Part>& parts() const { return parts_; }
  int64_t bytes() const { return bytes_; }
  bool empty() const { return runs_.empty(); }

 private:
  std::vector<Run> runs_;
  std::vector<Part> parts_;
  int64_t bytes_ = 0;
};

}  // namespace forebay
