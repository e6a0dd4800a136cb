// Bytes of a file as disjoint extents that do not touch each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "extent/extent.h"

namespace forebay::sim {

inline bool meet(Extent one, Extent other) {
  return one.offset < other.end() && other.offset < one.end();
}

inline bool inside(Extent inner, Extent outer) {
  return outer.offset <= inner.offset && inner.end() <= outer.end();
}

class ExtentSet {
 public:
  bool empty() const { return ends_.empty(); }
  int64_t bytes() const { return bytes_; }

  // Returns how many of the bytes were not in the set before.
  int64_t insert(Extent place) {
    if (place.empty()) return 0;
    const int64_t before = bytes_;
    int64_t begin = place.offset, end = place.end();
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin() && std::prev(at)->second >= begin) --at;
    while (at != ends_.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      bytes_ -= at->second - at->first;
      at = ends_.erase(at);
    }
    ends_.emplace_hint(at, begin, end);
    bytes_ += end - begin;
    return bytes_ - before;
  }

  // Returns how many of the bytes were in the set.
  int64_t erase(Extent place) {
    const int64_t before = bytes_;
    for (Extent part; !(part = next(place)).empty();) {
      const auto whole = std::prev(ends_.upper_bound(part.offset));
      const Extent all{whole->first, whole->second - whole->first};
      ends_.erase(whole);
      if (all.offset < part.offset) ends_.emplace(all.offset, part.offset);
      if (part.end() < all.end()) ends_.emplace(part.end(), all.end());
      bytes_ -= part.length;
      place = {part.end(), place.end() - part.end()};
    }
    return before - bytes_;
  }

  int64_t bytes_within(Extent place) const {
    int64_t bytes = 0;
    for (Extent part; !(part = next(place)).empty();) {
      bytes += part.length;
      place = {part.end(), place.end() - part.end()};
    }
    return bytes;
  }

  bool covers(Extent place) const { return next_gap(place).empty(); }

  // The first part of `place` that is in the set; empty: none is.
  Extent next(Extent place) const {
    if (place.length <= 0) return {place.offset, 0};
    auto at = ends_.upper_bound(place.offset);
    if (at != ends_.begin() && std::prev(at)->second > place.offset) --at;
    if (at == ends_.end() || at->first >= place.end()) return {place.end(), 0};
    const int64_t begin = std::max(at->first, place.offset);
    return {begin, std::min(at->second, place.end()) - begin};
  }

  // The first part of `place` that is not in the set; empty: all of it is.
  Extent next_gap(Extent place) const {
    if (place.length <= 0) return {place.offset, 0};
    int64_t begin = place.offset;
    auto at = ends_.upper_bound(begin);
    if (at != ends_.begin()) begin = std::max(begin, std::prev(at)->second);
    if (begin >= place.end()) return {place.end(), 0};
    const int64_t end = at == ends_.end() ? place.end() : std::min(at->first, place.end());
    return {begin, end - begin};
  }

 private:
  std::map<int64_t, int64_t> ends_;  // by begin
  int64_t bytes_ = 0;
};

}  // namespace forebay::sim
