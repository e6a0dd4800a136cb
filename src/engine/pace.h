// The pace of a collective access: the handles that carry it out together stay near each other in
// the file. Their bytes mostly lie on the same pages. A handle that ran far ahead would fill the
// cache with pages that lack the others' bytes, and each such page would be committed, or fetched,
// once for each of them. Nobody waits if the cache holds all of the access.
//
// An access in rounds (Access::told) waits for the others at the end of each round.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/rules.h"

namespace forebay {

class Pace {
 public:
  virtual ~Pace() = default;
  // The access has come to `offset`, and has no bytes before it any more. False: another handle is
  // far behind, and the access is to wait().
  virtual bool come_to(int64_t offset) = 0;
  // Waits until nobody is far behind. Whoever waits holds nothing for which others may wait.
  virtual void wait() = 0;
  // The offset at which to call come_to() next.
  virtual int64_t next_stop() const = 0;
  // Bytes from there on are moved after the next wait().
  virtual int64_t round_end() const { return INT64_MAX; }
};

// Where the runs of an access look at its pace.
class Stops {
 public:
  explicit Stops(Pace* pace)  // null: nowhere
      : pace_(pace), next_(pace == nullptr ? INT64_MAX : INT64_MIN) {}
  // Before a run that begins at `offset`: whether it is to wait().
  bool must_wait(int64_t offset) {
    if (offset < next_) return false;
    const bool near = pace_->come_to(offset);
    next_ = pace_->next_stop();
    return !near;
  }
  void wait() { pace_->wait(); }
  int64_t round_end() const { return pace_ == nullptr ? INT64_MAX : pace_->round_end(); }

 private:
  Pace* pace_;
  int64_t next_;
};

// Whether two handles write or read the same region in turn, rather than a region each.
inline bool same_region(Extent a, Extent b) {
  return 2 * intersect(a, b).length >= std::max(a.length, b.length);
}

// What a handle that has come to `offset`, within its `region` of the access, sees of the others.
class PaceView {
 public:
  static constexpr int64_t ended = INT64_MAX;  // the offset of a handle without further bytes

  PaceView(Extent region, int64_t offset) : region_(region), offset_(offset) {}
  // There is another handle, which has not begun.
  void add_not_begun() {
    ++handles_;
    ++together_;
    behind_ = std::max(behind_, offset_ - region_.offset);
  }
  // There is another one, whose bytes lie within `region`, those that are left from `offset` on.
  void add(Extent region, int64_t offset) {
    ++handles_;
    if (!same_region(region, region_)) return;
    ++together_;
    if (offset != ended && region.end() > offset_) behind_ = std::max(behind_, offset_ - offset);
  }
  // Whether to go on, and whether to go on after a wait: when the distance is half as long, so that
  // the next wait is not at the next stop. `distance_bytes`: how far all handles may be apart.
  bool near(int64_t distance_bytes) const { return behind_ <= distance(distance_bytes); }
  bool near_again(int64_t distance_bytes) const { return behind_ <= distance(distance_bytes) / 2; }
  int64_t next_stop(int64_t distance_bytes) const {
    constexpr int64_t steps = 8;  // between two handles that are as far apart as they may be
    return offset_ + std::max<int64_t>(distance(distance_bytes) / steps, 1);
  }

 private:
  // Handles in other regions have parts of the cache, too, as large for each handle.
  int64_t distance(int64_t all) const { return std::max<int64_t>(all * together_ / handles_, 1); }

  Extent region_;
  int64_t offset_;
  int64_t behind_ = 0;  // how far the slowest one is behind this handle
  int64_t together_ = 1, handles_ = 1;
};

// Whether an access of `bytes` by each of `ranks` handles has to keep pace with the others.
inline bool needs_pace(int64_t bytes, int64_t ranks, int64_t distance_bytes) {
  return bytes > distance_bytes / ranks;
}

// How far handles may be apart: the pages between them stay dirty, whatever write-behind does.
inline int64_t pace_bytes(double dirty_bound, uint32_t frames, int64_t page_size) {
  return std::max<int64_t>(DirtyBound(dirty_bound, frames).background(), 1) * page_size;
}

}  // namespace forebay
