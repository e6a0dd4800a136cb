// Whether a handle that writes waits for slower ones. Handles that write the same pages, each its
// own records, in calls of its own, drift apart: whoever is slow for a moment finds that pages have
// left with the others' bytes alone, and each of its records then is a request of its own, which
// makes it slower still. So pages that lack bytes stay while a slow handle comes nearer, and a fast
// one waits, for a bounded time. Nobody waits if the cache holds all pages between them. (pace.h
// does the same within a collective call, whose handles know of each other.)
//
// The class compares ends: of each handle, one past the highest byte that it has written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace forebay {

struct HandleEnd {
  uint32_t handle;
  int64_t end;  // 0: the handle has written nothing that storage may lack
  bool operator==(const HandleEnd&) const = default;
};

class Stragglers {
 public:
  // `mine`: the end of the handle that looks; `others`: those of the file's other handles.
  void look(int64_t mine, std::span<const HandleEnd> others) {
    mine_ = slowest_ = fastest_ = mine;
    for (const HandleEnd& other : others) {
      if (other.end == 0) continue;
      fastest_ = std::max(fastest_, other.end);
      if (other.end >= mine || is_among(stopped_, other)) continue;
      slowest_ = std::min(slowest_, other.end);
    }
  }

  // Whether handles are so far apart that pages between them would leave with bytes missing.
  bool apart(int64_t distance_bytes) const {
    return mine_ > 0 && fastest_ - slowest_ > distance_bytes;
  }
  // The end of the slowest handle that has not stopped.
  int64_t slowest() const { return slowest_; }
  // Whether this handle is that far before the slowest one.
  bool ahead(int64_t distance_bytes) const { return mine_ - slowest_ > distance_bytes; }
  // A wait for those that are behind: who has not written when it ends has stopped, and is not
  // behind until it writes again.
  void begin_wait(std::span<const HandleEnd> others) {
    before_.assign(others.begin(), others.end());
  }
  void end_wait(std::span<const HandleEnd> others) {
    stopped_.clear();
    for (const HandleEnd& other : others) {
      if (other.end < mine_ && is_among(before_, other)) stopped_.push_back(other);
    }
  }

 private:
  static bool is_among(const std::vector<HandleEnd>& ends, const HandleEnd& one) {
    return std::ranges::find(ends, one) != ends.end();
  }

  int64_t mine_ = 0, slowest_ = 0, fastest_ = 0;
  std::vector<HandleEnd> before_, stopped_;
};

}  // namespace forebay
