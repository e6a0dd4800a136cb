// The spatial class of the accesses of several ranks together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "pattern/global.h"

namespace forebay::pattern {

// Sets `spatial`, `dimension` and `overlapping` of a pattern whose other members are set.
void classify_globally(GlobalPattern& pattern);

// A rank's pattern and its place in the file.
struct PlacedPattern {
  const Pattern* pattern;
  uint32_t rank;
  int64_t offset;
};

struct Extents {
  bool holes = false;        // there are holes between extents
  bool overlapping = false;  // extents of different ranks overlap
};

// Compares every extent; nullopt if there are too many.
std::optional<Extents> look_at_extents(std::span<const PlacedPattern> placed);

}  // namespace forebay::pattern
