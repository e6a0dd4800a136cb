// Extents to be fetched.
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
  // Extents with at most `join_bytes` between them become one that covers them; the page size is a
  // good choice, as a page is fetched as a whole.
  explicit FetchList(int64_t join_bytes) : join_bytes_(join_bytes) {}

  // All of them, by offset: what lies side by side is fetched together, whenever it is asked for.
  std::span<const Extent> sorted() {
    if (extents_.size() > 1) {
      std::sort(extents_.begin(), extents_.end(),
                [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
      std::size_t last = 0;
      for (const Extent& extent : extents_) {
        if (!join(extents_[last], extent)) extents_[++last] = extent;
      }
      extents_.resize(last + 1);
    }
    return extents_;
  }
  void clear() { extents_.clear(); }

  // Predicted are any numbers; whether there are such bytes in any file.
  static bool possible(Extent extent) {
    return extent.offset >= 0 && extent.length > 0 &&
           extent.length <= std::numeric_limits<int64_t>::max() - extent.offset;
  }

  // Leaves out what is not possible.
  void add(Extent extent) {
    if (!possible(extent)) return;
    if (extents_.empty() || !join(extents_.back(), extent)) extents_.push_back(extent);
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

  // Whether `into` covers both now.
  bool join(Extent& into, Extent extent) const {
    if (distance(into, extent) > join_bytes_) return false;
    const int64_t begin = std::min(into.offset, extent.offset);
    into = {begin, std::max(into.end(), extent.end()) - begin};
    return true;
  }

  const int64_t join_bytes_;
  std::vector<Extent> extents_;
};

}  // namespace forebay
