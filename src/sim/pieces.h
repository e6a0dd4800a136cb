// Accesses as a cache is shown them, piece by piece.
#pragma once

#include <cstdint>

namespace forebay::sim {

// A contiguous piece of an access.
struct Piece {
  uint32_t process = 0;
  uint32_t file = 0;
  int64_t offset = 0;  // bytes from the start of the file
  int64_t end = 0;
  uint32_t touches = 0;  // touches of pages; none if it went past the cache, or stayed on a page
};

}  // namespace forebay::sim
