// The pace of a collective access: the handles that carry it out together stay near each other in
// the file. Their bytes mostly lie on the same pages. A handle that ran far ahead would fill the
// cache with pages that lack the others' bytes, and each such page would be committed, or fetched,
// once for each of them. Nobody waits if the cache holds all of the access.
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

 private:
  Pace* pace_;
  int64_t next_;
};

// How far handles may be apart: the pages between them stay dirty, whatever write-behind does.
inline int64_t pace_bytes(double dirty_bound, uint32_t frames, int64_t page_size) {
  return std::max<int64_t>(DirtyBound(dirty_bound, frames).background(), 1) * page_size;
}

// Whether two handles write or read the same region in turn, rather than a region each.
inline bool same_region(Extent a, Extent b) {
  return 2 * intersect(a, b).length >= std::max(a.length, b.length);
}

}  // namespace forebay
