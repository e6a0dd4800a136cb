// The list of extents to be fetched.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "extent/extent.h"

namespace forebay {

class FetchList {
 public:
  // Two extents with at most `join_bytes` between them become one that covers both. The page size
  // is a good value, because pages are fetched whole.
  explicit FetchList(int64_t join_bytes) : join_bytes_(join_bytes) {}

  // All extents by offset. Neighbouring ones are joined, in whatever order they were added.
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

  // Whether a file may have these bytes. A prediction may be any number.
  static bool possible(Extent extent) {
    return extent.offset >= 0 && extent.length > 0 &&
           extent.length <= std::numeric_limits<int64_t>::max() - extent.offset;
  }

  // Adds `extent`, if it is possible.
  void add(Extent extent) {
    if (!possible(extent)) return;
    if (extents_.empty() || !join(extents_.back(), extent)) extents_.push_back(extent);
  }

  // Adds `count` extents at equal steps, if they are possible. Takes no time for each if the holes
  // between them are fetched, too: small accesses are many in a window.
  void add_row(Extent first, int64_t step, int64_t count) {
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    if (step == 0 || leaves_holes(first.length, step) || !possible(first)) {
      const auto wrapping = static_cast<uint64_t>(step);
      auto offset = static_cast<uint64_t>(first.offset);
      for (int64_t i = 0; i < count; ++i, offset += wrapping)
        add({static_cast<int64_t>(offset), first.length});
      return;
    }
    if (count <= 0) return;
    const int64_t room = step > 0 ? most - first.end() : first.offset;
    const int64_t reach = std::min(count - 1, room / std::abs(step)) * step;
    add({first.offset + std::min<int64_t>(reach, 0), first.length + std::abs(reach)});
  }

  // Whether the holes between extents at equal steps stay unfetched.
  bool leaves_holes(int64_t length, int64_t step) const {
    return step != 0 && (step > 0 ? step - length : -(step + length)) > join_bytes_;
  }

  // How many bytes of the window it takes to fetch `extent` after `last`: the extent and the hole
  // before it, or, if the hole is not fetched, the extent and up to a page that is fetched with it.
  int64_t cost_bytes(Extent last, Extent extent) const {
    return extent.length + std::min(distance(last, extent), join_bytes_);
  }

 private:
  // The length of the hole between two extents; 0 if they touch or overlap.
  static int64_t distance(Extent a, Extent b) {
    if (a.offset > b.offset) std::swap(a, b);
    return std::max<int64_t>(b.offset - a.end(), 0);
  }

  // Extends `into` over `extent`, if they are near enough. Returns whether they were.
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
