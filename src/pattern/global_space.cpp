#include "pattern/global_space.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace forebay::pattern {

namespace {

constexpr uint64_t most_extents = uint64_t{1} << 16;  // that are compared one by one

// One level of steps of the bytes of all ranks.
struct Level {
  uint64_t step;  // without its sign
  uint64_t count;
  bool of_ranks;
};

uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// The levels of a pattern in which all accesses move together. False: it has no such levels.
bool levels_of(const Pattern& pattern, std::vector<Level>& levels, int64_t& block) {
  const Pattern* loop = &pattern;
  for (; loop->is_loop(); loop = &loop->body.front()) {
    int64_t step = 0;
    int64_t distance = 0;
    if (!moves_as_one(*loop, step)) return false;
    const bool sizes_stay =
        std::all_of(loop->body.begin(), loop->body.end(), [&](const Pattern& part) {
          return part.is_loop() || std::all_of(part.steps.begin(), part.steps.end(),
                                               [](const Step& one) { return one.size == 0; });
        });
    if (!sizes_stay) return false;
    levels.push_back({magnitude(step), loop->count, false});
    bool touching = true;
    int64_t end = loop->body.front().offset;
    for (const Pattern& part : loop->body) {
      touching = touching && !part.is_loop() && part.offset == end;
      end = plus(part.offset, part.size);
    }
    if (touching) {
      block = minus(end, loop->body.front().offset);
      return true;
    }
    if (!is_even(*loop, distance)) return false;
    if (loop->body.size() > 1) levels.push_back({magnitude(distance), loop->body.size(), false});
    const bool alike = std::all_of(loop->body.begin(), loop->body.end(), [&](const Pattern& part) {
      Pattern moved = part;
      moved.move(minus(loop->first_access().offset, part.first_access().offset));
      return moved.same_accesses(loop->body.front());
    });
    if (!alike) return false;
  }
  block = loop->size;
  return true;
}

void add_rank_levels(const GlobalPattern& pattern, std::vector<Level>& levels) {
  const Base& base = pattern.base;
  if (base.width == 0) {
    levels.push_back({magnitude(base.step), pattern.processes, true});
    return;
  }
  levels.push_back({magnitude(base.step), base.width, true});
  levels.push_back({magnitude(base.row_step), pattern.processes / base.width, true});
}

// Sorted by step, each level continues the bytes that smaller levels cover, leaves holes, or covers
// the same bytes again. False: the levels do not tell which.
bool classify_levels(std::vector<Level> levels, int64_t block, GlobalPattern& pattern) {
  std::sort(levels.begin(), levels.end(),
            [](const Level& a, const Level& b) { return a.step < b.step; });
  // Distance from the first byte to one past the last.
  uint64_t covered = static_cast<uint64_t>(block);
  uint64_t continues_at = covered;  // the step that continues at even distances
  bool ranks_within = false;
  for (const Level& level : levels) {
    if (level.count < 2) continue;
    if (level.step < covered) {
      if (level.step > 0 && pattern.dimension > 0) return false;
      pattern.overlapping = pattern.overlapping || ranks_within || level.of_ranks;
    } else if (level.step != continues_at) {
      ++pattern.dimension;
    }
    ranks_within = ranks_within || level.of_ranks;
    covered += level.step * (level.count - 1);
    continues_at = std::max(pattern.dimension == 0 ? covered : level.step * level.count, covered);
  }
  if (pattern.dimension == 0) {
    pattern.dimension = 1;
    pattern.spatial = Spatial::contiguous;
  } else {
    pattern.spatial = pattern.dimension == 1 ? Spatial::fixed_stride : Spatial::nested_strided;
  }
  return true;
}

// Classifies by the extents, if they are few enough.
void classify_extents(GlobalPattern& pattern) {
  const Classes local = classify(pattern.pattern, {}, 1);
  const bool as_locally = pattern.processes == 1 || local.spatial == Spatial::random;
  pattern.spatial = as_locally ? local.spatial : Spatial::combination;
  if (!as_locally && local.spatial == Spatial::single) pattern.spatial = Spatial::random;
  pattern.dimension = local.dimension;
  pattern.overlapping = false;
  std::vector<PlacedPattern> placed;
  for (const GlobalPattern::Start& start : pattern.starts())
    placed.push_back({&pattern.pattern, start.rank, start.offset});
  const std::optional<Extents> extents = look_at_extents(placed);
  if (!extents) return;
  pattern.overlapping = extents->overlapping;
  if (!extents->holes) {
    pattern.spatial = Spatial::contiguous;
    pattern.dimension = 1;
  }
}

// Whether the ranks are levels of steps.
bool full(const GlobalPattern& pattern) {
  return pattern.own_starts.empty() && pattern.ranks.size() == 1 &&
         (pattern.base.width == 0 || pattern.processes % pattern.base.width == 0);
}

}  // namespace

void classify_globally(GlobalPattern& pattern) {
  std::vector<Level> levels;
  int64_t block = 0;
  if (pattern.processes == 1 && !pattern.pattern.is_loop()) return;  // a single access
  if (full(pattern) && levels_of(pattern.pattern, levels, block) && block >= 0) {
    add_rank_levels(pattern, levels);
    if (classify_levels(std::move(levels), block, pattern)) return;
  }
  classify_extents(pattern);
}

std::optional<Extents> look_at_extents(std::span<const PlacedPattern> placed) {
  uint64_t count = 0;
  for (const PlacedPattern& one : placed) {
    const uint64_t more = one.pattern->accesses();
    if (more > most_extents - count) return std::nullopt;
    count += more;
  }
  struct Touched {
    int64_t begin;
    int64_t end;
    uint32_t rank;
  };
  std::vector<Touched> touched;
  touched.reserve(count);
  for (const PlacedPattern& one : placed) {
    for (Walk walk(*one.pattern); !walk.done(); walk.advance()) {
      const Access access = walk.access();
      const int64_t begin = plus(one.offset, access.offset);
      touched.push_back({begin, plus(begin, access.size), one.rank});
    }
  }
  std::sort(touched.begin(), touched.end(),
            [](const Touched& a, const Touched& b) { return a.begin < b.begin; });
  Extents extents;
  Touched last = touched.front();
  for (const Touched& one : touched) {
    extents.holes = extents.holes || one.begin > last.end;
    extents.overlapping = extents.overlapping || (one.begin < last.end && one.rank != last.rank);
    if (one.end > last.end) last = one;
  }
  return extents;
}

}  // namespace forebay::pattern
