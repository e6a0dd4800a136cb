// Yin's five factors of a pattern (III.B.1, figure 3): spatial class, repetition, request size,
// temporal class, direction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pattern/signature.h"

namespace forebay::pattern {

// The meaning of operation numbers: the operation at each index.
struct Operation {
  std::string name;  // as it is printed
  bool writes = false;
};
using Operations = std::span<const Operation>;

enum class Direction : uint8_t { read, write, read_and_write };

enum class Spatial : uint8_t {
  single,           // one access
  contiguous,       // each access begins where the one before ended
  same_place,       // the same bytes each time
  fixed_stride,     // equal steps forward
  negative_stride,  // equal steps backward
  nested_strided,   // steps within steps, in `dimension` levels
  random,           // no rule found
  combination,      // several of these
};

enum class Magnitude : uint8_t { small, medium, large, mixed };  // less than a page, one page, more
enum class Sizes : uint8_t { fixed, patterned, variable };
enum class Temporal : uint8_t { unknown, fixed, random };

struct Classes {
  Direction direction = Direction::read;
  Spatial spatial = Spatial::single;
  uint32_t dimension = 0;    // levels of steps
  bool backward = false;     // a step leads toward the beginning of the file
  uint64_t repetitions = 1;  // 1: a single occurrence
  Magnitude magnitude = Magnitude::small;
  Sizes sizes = Sizes::fixed;
  Temporal temporal = Temporal::unknown;

  bool operator==(const Classes&) const = default;
};

Classes classify(const Pattern& pattern, Operations operations, int64_t page_bytes);

// The classes of everything that one process did. The spatial and the temporal class are those of
// nearly all accesses (19 of 20). If no class has so many, the spatial class is `random` if most
// accesses follow no pattern, otherwise `combination`.
Classes classify(const Signature& signature, Operations operations, int64_t page_bytes);

std::string_view name_of(Direction direction);
std::string_view name_of(Spatial spatial);
std::string_view name_of(Magnitude magnitude);
std::string_view name_of(Sizes sizes);
std::string_view name_of(Temporal temporal);

// Whether the accesses follow each other forward without a hole, and their length in bytes.
bool is_contiguous(const Pattern& pattern, int64_t& length);

// Whether the parts of a loop's body are alike and at equal distances, and that distance (0 for a
// single part).
bool is_even(const Pattern& loop, int64_t& distance);

// Whether all accesses move by the same step from one iteration of the loop to the next, and that
// step.
bool moves_as_one(const Pattern& loop, int64_t& step);

}  // namespace forebay::pattern
