// Extents with something that belongs to each, found by where they are. They may overlap. An extent
// is kept with those of its own order of length, so that few others are looked at.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>

#include "extent/extent.h"
#include "sim/cluster/extent_set.h"

namespace forebay::sim {

template <typename Value>
class ExtentIndex {
 public:
  struct Entry {
    Extent extent;
    Value value;
  };

  std::size_t size() const { return size_; }

  void insert(Extent extent, Value value) {
    of_length(extent.length).emplace(extent.offset, Entry{extent, std::move(value)});
    ++size_;
  }

  // Takes out the one with this extent for which `is(value)`; it is there.
  template <typename Is>
  Entry take(Extent extent, Is is) {
    ByBegin& entries = of_length(extent.length);
    auto at = entries.lower_bound(extent.offset);
    while (at->second.extent != extent || !is(at->second.value)) ++at;
    Entry taken = std::move(at->second);
    entries.erase(at);
    --size_;
    return taken;
  }

  // Calls act(entry) with each one that meets the place.
  template <typename Act>
  void each_meeting(Extent place, Act act) {
    for (std::size_t order = 0; order < entries_.size(); ++order) {
      ByBegin& entries = entries_[order];
      if (entries.empty()) continue;
      for (auto at = entries.upper_bound(place.offset - most_length(order));
           at != entries.end() && at->first < place.end(); ++at) {
        if (meet(at->second.extent, place)) act(at->second);
      }
    }
  }

  // The largest end, of at least `least`, of those that end by `position` and for which
  // `counts(value)`.
  template <typename Counts>
  int64_t last_end(int64_t position, int64_t least, Counts counts) const {
    for (std::size_t order = 0; order < entries_.size(); ++order) {
      const ByBegin& entries = entries_[order];
      for (auto at = entries.lower_bound(position); at != entries.begin();) {
        --at;
        if (at->first <= least - most_length(order)) break;
        const Entry& entry = at->second;
        if (entry.extent.end() <= position && entry.extent.end() > least && counts(entry.value))
          least = entry.extent.end();
      }
    }
    return least;
  }

  // The smallest begin, of at most `most`, of those that begin at `position` or later and for which
  // `counts(value)`.
  template <typename Counts>
  int64_t next_begin(int64_t position, int64_t most, Counts counts) const {
    for (const ByBegin& entries : entries_) {
      for (auto at = entries.lower_bound(position); at != entries.end() && at->first < most; ++at) {
        if (counts(at->second.value)) most = at->first;
      }
    }
    return most;
  }

 private:
  using ByBegin = std::multimap<int64_t, Entry>;
  static std::size_t order_of(int64_t length) {
    return static_cast<std::size_t>(std::bit_width(static_cast<uint64_t>(length)));
  }
  static int64_t most_length(std::size_t order) {
    return order < 63 ? int64_t{1} << order : INT64_MAX;
  }
  ByBegin& of_length(int64_t length) { return entries_[order_of(length)]; }

  std::array<ByBegin, 64> entries_;  // by order of length
  std::size_t size_ = 0;
};

}  // namespace forebay::sim
