// Extents to be fetched, in the order in which they will be asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "extent/extent.h"

namespace forebay {

class FetchList {
 public:
  // Extents that follow each other, forward or backward, with at most `join_bytes` between them
  // become one that covers them; the page size is a good choice, as a page is fetched as a whole.
  explicit FetchList(int64_t join_bytes) : join_bytes_(join_bytes) {}

  std::span<const Extent> extents() const { return extents_; }
  bool empty() const { return extents_.empty(); }
  void clear() { extents_.clear(); }

  // Predicted are any numbers; whether there are such bytes in any file.
  static bool possible(Extent extent) {
    return extent.offset >= 0 && extent.length > 0 &&
           extent.length <= std::numeric_limits<int64_t>::max() - extent.offset;
  }

  // Leaves out what is not possible.
  void add(Extent extent) {
    if (!possible(extent)) return;
    if (extents_.empty() || distance(extents_.back(), extent) > join_bytes_) {
      extents_.push_back(extent);
      return;
    }
    Extent& last = extents_.back();
    const int64_t begin = std::min(last.offset, extent.offset);
    last = {begin, std::max(last.end(), extent.end()) - begin};
  }

  // What fetching `extent` after `last` takes of a window: its bytes and the hole between them, or,
  // where the hole is left out, up to a page that is fetched with it.
  int64_t cost_bytes(Extent last, Extent extent) const {
    return extent.length + std::min(distance(last, extent), join_bytes_);
  }

 private:
  // The hole between them; 0 where they touch or overlap.
  static int64_t distance(Extent a, Extent b) {
    if (a.offset > b.offset) std::swap(a, b);
    return std::max<int64_t>(b.offset - a.end(), 0);
  }

  const int64_t join_bytes_;
  std::vector<Extent> extents_;
};

}  // namespace forebay
