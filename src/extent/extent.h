// An extent: a contiguous byte range of a file. The core describes accesses by extents.
#pragma once

#include <algorithm>
#include <cstdint>

namespace forebay {

struct Extent {
  int64_t offset = 0;  // bytes from the start of the file
  int64_t length = 0;  // bytes

  int64_t end() const { return offset + length; }
  bool empty() const { return length <= 0; }
  bool operator==(const Extent&) const = default;
};

inline Extent intersect(Extent a, Extent b) {
  const int64_t begin = std::max(a.offset, b.offset);
  const int64_t end = std::min(a.end(), b.end());
  return end > begin ? Extent{begin, end - begin} : Extent{begin, 0};
}

inline int64_t round_down(int64_t value, int64_t unit) { return value / unit * unit; }
// Of a positive value.
inline int64_t round_up(int64_t value, int64_t unit) { return (value - 1) / unit * unit + unit; }

}  // namespace forebay
