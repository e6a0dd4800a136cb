// A list of requests: the bytes of many pages as few contiguous extents of the file. Regions that
// touch in the file become one request, whatever page or rank they came from. Settlemyer 4.2.1.1:
// the evictions of one request leave as one list.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "extent/extent.h"
#include "policy/policy.h"

namespace forebay {

// A run of a file's bytes that came from another node.
struct Received {
  Extent extent;       // in the file
  uint32_t message;    // its number
  int64_t in_message;  // offset of the first byte within the message
};

class IoPlan {
 public:
  static constexpr uint32_t in_frame = 0xffffffffu;

  struct Run {  // a contiguous file extent, made of parts [first_part, first_part + parts)
    Extent extent;
    uint32_t first_part;
    uint32_t parts;
  };
  struct Part {  // bytes of one page, or of one message
    FrameIndex frame;
    int64_t in_page;  // offset within the page or message
    int64_t length;
    uint32_t staged;  // index of a page of Driver::Staging, or of a message, or in_frame
  };

  // Adds a region. If it touches the region added before in the file, the two become one run.
  void add(FrameIndex frame, int64_t page_offset, Extent region_in_page,
           uint32_t staged = in_frame);
  // Makes room: so many calls of add() are not refused memory.
  void reserve(std::size_t regions);
  void sort();  // runs by offset
  // Adds runs of bytes that came in messages, and unites the runs that touch.
  void merge(std::span<const Received> received);
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
