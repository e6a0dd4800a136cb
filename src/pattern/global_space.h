// The spatial class of what several ranks do: that of the bytes of all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "pattern/global.h"

namespace forebay::pattern {

// Sets `spatial`, `dimension` and `overlapping` of a pattern that has all else.
void classify_globally(GlobalPattern& pattern);

// A pattern of a rank at its place in the file.
struct PlacedPattern {
  const Pattern* pattern;
  uint32_t rank;
  int64_t offset;
};

struct Extents {
  bool holes = false;        // between them
  bool overlapping = false;  // those of different ranks
};

// Looks at every extent; nullopt where there are too many.
std::optional<Extents> look_at_extents(std::span<const PlacedPattern> placed);

}  // namespace forebay::pattern
