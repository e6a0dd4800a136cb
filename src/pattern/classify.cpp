#include "pattern/classify.h"

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace forebay::pattern {

namespace {

constexpr double nearly_all = 0.95;

// Calls `visit(access, loops)` for each access of a body; `loops` is the number of loops around it
// within the body. The access's step for the loop that owns the body is steps[loops].
template <typename Visit>
void visit_accesses(const std::vector<Pattern>& body, const Visit& visit, std::size_t loops = 0) {
  for (const Pattern& part : body) {
    if (part.is_loop()) {
      visit_accesses(part.body, visit, loops + 1);
    } else {
      visit(part, loops);
    }
  }
}

bool sizes_stay(const Pattern& loop) {
  bool stay = true;
  visit_accesses(loop.body, [&](const Pattern& access, std::size_t loops) {
    stay = stay && access.steps[loops].size == 0;
  });
  return stay;
}

bool parts_are_contiguous(const Pattern& loop, int64_t& length) {
  const int64_t begin = loop.first_access().offset;
  length = 0;
  for (const Pattern& part : loop.body) {
    int64_t bytes = 0;
    if (part.first_access().offset != plus(begin, length) || !is_contiguous(part, bytes)) {
      return false;
    }
    length = plus(length, bytes);
  }
  return true;
}

struct Space {
  Spatial spatial = Spatial::single;
  uint32_t dimension = 0;
  bool backward = false;
};

Space space_of(const Pattern& pattern) {
  if (!pattern.is_loop()) return {};
  int64_t length = 0;
  if (is_contiguous(pattern, length)) return {Spatial::contiguous, 1, false};
  if (pattern.count == 1) return {Spatial::random, 0, false};
  Space space;
  std::vector<Space> parts;
  for (const Pattern& part : pattern.body) {
    parts.push_back(space_of(part));
    space.dimension = std::max(space.dimension, parts.back().dimension);
    space.backward = space.backward || parts.back().backward;
  }
  bool backward = false;
  visit_accesses(pattern.body, [&](const Pattern& access, std::size_t loops) {
    backward = backward || access.steps[loops].offset < 0;
  });
  space.backward = space.backward || backward;
  int64_t step = 0;
  int64_t distance = 0;
  const bool one_block = pattern.depth() == 1 && parts_are_contiguous(pattern, length);
  const bool combined = parts.front().spatial == Spatial::combination ||
                        !moves_as_one(pattern, step) || (!one_block && !is_even(pattern, distance));
  if (combined) return {Spatial::combination, space.dimension + 1, space.backward};
  if (distance != 0 && !one_block) {  // the parts of the body form a level of steps themselves
    ++space.dimension;
    space.backward = space.backward || distance < 0;
    space.spatial = distance < 0 ? Spatial::negative_stride : Spatial::fixed_stride;
    if (space.dimension > 1) space.spatial = Spatial::nested_strided;
  } else {
    space.spatial = parts.front().spatial;
  }
  if (step == 0) {  // a repetition adds no dimension
    if (space.dimension == 0) space.spatial = Spatial::same_place;
    return space;
  }
  ++space.dimension;
  if (space.dimension > 1) {
    space.spatial = Spatial::nested_strided;
  } else {
    space.spatial = step < 0 ? Spatial::negative_stride : Spatial::fixed_stride;
  }
  return space;
}

// A range of sizes. Floating point numbers hold the result of any progression.
struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void include(double low, double high) {
    least = std::min(least, low);
    most = std::max(most, high);
  }
  Magnitude magnitude(int64_t page_bytes) const {
    const auto page = static_cast<double>(page_bytes);
    if (most < page) return Magnitude::small;
    if (least > page) return Magnitude::large;
    return least == page && most == page ? Magnitude::medium : Magnitude::mixed;
  }
};

void include_sizes(const Pattern& pattern, std::vector<uint64_t>& counts, Range& range) {
  if (pattern.is_loop()) {
    counts.push_back(pattern.count);
    for (const Pattern& part : pattern.body) include_sizes(part, counts, range);
    counts.pop_back();
    return;
  }
  auto low = static_cast<double>(pattern.size);
  double high = low;
  for (std::size_t level = 0; level < counts.size(); ++level) {
    const double change = static_cast<double>(pattern.steps[level].size) *
                          static_cast<double>(counts[counts.size() - 1 - level] - 1);
    (change < 0 ? low : high) += change;
  }
  range.include(low, high);
}

Range sizes_of(const Pattern& pattern) {
  Range range;
  std::vector<uint64_t> counts;
  include_sizes(pattern, counts, range);
  return range;
}

Temporal temporal_of(const Pattern& pattern) {
  if (!pattern.is_loop()) return Temporal::unknown;
  Temporal temporal = Temporal::unknown;
  if (pattern.intervals.count > 0) {
    temporal = pattern.intervals.fixed() ? Temporal::fixed : Temporal::random;
  }
  for (const Pattern& part : pattern.body) temporal = std::max(temporal, temporal_of(part));
  return temporal;
}

class Directions {
 public:
  explicit Directions(Operations operations) : operations_(operations) {}
  void include(uint8_t operation) {
    const bool writes = operation < operations_.size() && operations_[operation].writes;
    (writes ? writes_ : reads_) = true;
  }
  void include(const Pattern& pattern) {
    if (!pattern.is_loop()) include(pattern.operation);
    for (const Pattern& part : pattern.body) include(part);
  }
  Direction direction() const {
    if (!writes_) return Direction::read;
    return reads_ ? Direction::read_and_write : Direction::write;
  }

 private:
  Operations operations_;
  bool reads_ = false;
  bool writes_ = false;
};

// Properties common to the accesses outside of patterns.
struct RawSummary {
  uint64_t accesses = 0;
  bool contiguous = true;
};

RawSummary summarise_raw(const Signature& signature, Range& sizes, Directions& directions) {
  RawSummary summary;
  bool follows = false;  // the part before was raw, too
  int64_t end = 0;       // end of the last raw access
  for (const Part& part : signature.parts) {
    if (part.kind != Part::Kind::raw) {
      follows = false;
      continue;
    }
    Cursor cursor(signature, part.first);
    Access access;
    for (uint64_t i = 0; i < part.accesses && cursor.next(access); ++i) {
      ++summary.accesses;
      const auto size = static_cast<double>(access.size);
      sizes.include(size, size);
      directions.include(access.operation);
      if (follows && access.offset != end) summary.contiguous = false;
      follows = true;
      end = plus(access.offset, access.size);
    }
  }
  return summary;
}

template <typename Class>
std::optional<Class> of_nearly_all(const std::map<Class, uint64_t>& counts, uint64_t all) {
  for (const auto& [one, count] : counts) {
    if (static_cast<double>(count) >= nearly_all * static_cast<double>(all)) return one;
  }
  return std::nullopt;
}

}  // namespace

bool is_contiguous(const Pattern& pattern, int64_t& length) {
  if (!pattern.is_loop()) {
    length = pattern.size;
    return true;
  }
  int64_t step = 0;
  if (!parts_are_contiguous(pattern, length)) return false;
  if (pattern.count == 1) return true;
  if (!moves_as_one(pattern, step) || step != length || !sizes_stay(pattern)) {
    return false;
  }
  length = times(length, pattern.count);
  return true;
}

bool is_even(const Pattern& loop, int64_t& distance) {
  distance = 0;
  const auto& body = loop.body;
  for (std::size_t i = 1; i < body.size(); ++i) {
    const int64_t next = minus(body[i].first_access().offset, body[i - 1].first_access().offset);
    if ((i > 1 && next != distance) || body[i].structure() != body[0].structure()) return false;
    distance = next;
  }
  return true;
}

bool moves_as_one(const Pattern& loop, int64_t& step) {
  std::optional<int64_t> first;
  bool as_one = true;
  visit_accesses(loop.body, [&](const Pattern& access, std::size_t loops) {
    if (!first) first = access.steps[loops].offset;
    as_one = as_one && access.steps[loops].offset == *first;
  });
  step = first.value_or(0);
  return as_one;
}

Classes classify(const Pattern& pattern, Operations operations, int64_t page_bytes) {
  Classes classes;
  Directions directions(operations);
  directions.include(pattern);
  classes.direction = directions.direction();
  const Space space = space_of(pattern);
  classes.spatial = space.spatial;
  classes.dimension = space.dimension;
  classes.backward = space.backward;
  classes.repetitions = pattern.is_loop() ? pattern.count : 1;
  const Range sizes = sizes_of(pattern);
  classes.magnitude = sizes.magnitude(page_bytes);
  classes.sizes = sizes.least == sizes.most ? Sizes::fixed : Sizes::patterned;
  classes.temporal = temporal_of(pattern);
  return classes;
}

Classes classify(const Signature& signature, Operations operations, int64_t page_bytes) {
  using Where = std::pair<Spatial, uint32_t>;
  Classes classes;
  Range sizes;
  Directions directions(operations);
  std::map<Where, uint64_t> spatial;
  std::map<Temporal, uint64_t> temporal;
  std::map<uint32_t, uint64_t> occurrences;
  for (const Part& part : signature.parts) {
    if (part.kind != Part::Kind::pattern) continue;
    const Pattern& pattern = signature.patterns[part.pattern];
    const Classes own = classify(pattern, operations, page_bytes);
    spatial[{own.spatial, own.dimension}] += part.accesses;
    temporal[own.temporal] += part.accesses;
    classes.backward = classes.backward || own.backward;
    const Range range = sizes_of(pattern);
    sizes.include(range.least, range.most);
    directions.include(pattern);
    const uint64_t repeated = ++occurrences[part.pattern] * pattern.count;
    classes.repetitions = std::max(classes.repetitions, repeated);
  }
  const RawSummary raw = summarise_raw(signature, sizes, directions);
  const uint64_t seen = signature.accesses - signature.lost;
  if (raw.accesses > 0) {
    const Spatial alone = seen == 1 ? Spatial::single : Spatial::random;
    if (raw.contiguous && seen > 1) {
      spatial[{Spatial::contiguous, 1}] += raw.accesses;
    } else {
      spatial[{alone, 0}] += raw.accesses;
    }
    temporal[Temporal::unknown] += raw.accesses;
  }
  if (seen == 0) return classes;
  const bool mostly_raw = 2 * raw.accesses > seen && !raw.contiguous;
  const Where otherwise{mostly_raw ? Spatial::random : Spatial::combination, 0};
  std::tie(classes.spatial, classes.dimension) = of_nearly_all(spatial, seen).value_or(otherwise);
  classes.temporal = of_nearly_all(temporal, seen).value_or(Temporal::random);
  classes.direction = directions.direction();
  classes.magnitude = sizes.magnitude(page_bytes);
  if (sizes.least == sizes.most) {
    classes.sizes = Sizes::fixed;
  } else {
    classes.sizes = raw.accesses == 0 ? Sizes::patterned : Sizes::variable;
  }
  return classes;
}

std::string_view name_of(Direction direction) {
  static constexpr std::array<std::string_view, 3> names{"read", "write", "read and write"};
  return names[static_cast<std::size_t>(direction)];
}
std::string_view name_of(Spatial spatial) {
  static constexpr std::array<std::string_view, 8> names{
      "single",          "contiguous",     "same place", "fixed stride",
      "negative stride", "nested strided", "random",     "combination"};
  return names[static_cast<std::size_t>(spatial)];
}
std::string_view name_of(Magnitude magnitude) {
  static constexpr std::array<std::string_view, 4> names{"small", "medium", "large", "mixed"};
  return names[static_cast<std::size_t>(magnitude)];
}
std::string_view name_of(Sizes sizes) {
  static constexpr std::array<std::string_view, 3> names{"fixed", "patterned", "variable"};
  return names[static_cast<std::size_t>(sizes)];
}
std::string_view name_of(Temporal temporal) {
  static constexpr std::array<std::string_view, 3> names{"unknown", "fixed", "random"};
  return names[static_cast<std::size_t>(temporal)];
}

}  // namespace forebay::pattern
