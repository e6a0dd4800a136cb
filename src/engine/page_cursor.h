// Walks the numbers of the pages that extents touch, in the extents' order. A page that successive
// extents share comes once.
#pragma once

#include <cstdint>
#include <span>

#include "extent/extent.h"

namespace forebay {

class PageCursor {
 public:
  // The extents are not empty and outlive the cursor.
  PageCursor(std::span<const Extent> extents, int64_t page_size)
      : rest_(extents), page_size_(page_size) {
    enter();
  }

  bool done() const { return rest_.empty(); }
  int64_t page() const { return page_; }
  void advance() {
    const int64_t before = page_;
    do {
      if (page_ < last_) {
        ++page_;
      } else {
        rest_ = rest_.subspan(1);
        enter();
      }
    } while (!done() && page_ == before);
  }

 private:
  void enter() {
    if (done()) return;
    page_ = rest_.front().offset / page_size_;
    last_ = (rest_.front().end() - 1) / page_size_;
  }

  std::span<const Extent> rest_;  // the current one first
  const int64_t page_size_;
  int64_t page_ = 0;
  int64_t last_ = 0;  // of the current extent
};

}  // namespace forebay
