// Global signatures as text.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pattern/global.h"
#include "pattern/global_space.h"
#include "pattern/notation.h"

namespace forebay::pattern {

namespace {

constexpr std::size_t fewest_alike = 3;  // ranks that share a line

std::string signed_number(int64_t number) {
  const auto bits = static_cast<uint64_t>(number);
  return number < 0 ? " - " + std::to_string(0 - bits) : " + " + std::to_string(bits);
}

std::string seconds(int64_t time_ns, int64_t zero_ns) {
  if (time_ns == unknown_time) return "unknown";
  std::array<char, 32> text{};
  const auto since_zero = static_cast<double>(minus(time_ns, zero_ns));
  std::snprintf(text.data(), text.size(), "%.6f", since_zero * 1e-9);
  return text.data();
}

// Writes one line, for one pattern or for several that are alike.
class LineWriter {
 public:
  LineWriter(Operations operations, int64_t page_bytes, int64_t zero_ns)
      : operations_(operations), page_bytes_(page_bytes), zero_ns_(zero_ns) {}

  Classes classes_of(const GlobalPattern& pattern) const {
    return classify(pattern.pattern, operations_, page_bytes_);
  }

  Line of(const GlobalPattern& pattern) const {
    const std::string base =
        pattern.own_starts.empty() ? notation(pattern.base) : notation(pattern.own_starts);
    const Classes classes = classes_of(pattern);
    return {written(pattern, base, pattern_signature(classes)),
            pattern.pattern.accesses() * pattern.processes};
  }

  // A line for patterns of different ranks.
  Line of(const std::vector<const GlobalPattern*>& alike) const {
    GlobalPattern common;
    std::vector<PlacedPattern> placed;
    uint64_t accesses = 0;
    for (const GlobalPattern* one : alike) {
      for (const GlobalPattern::Start& start : one->starts())
        placed.push_back({&one->pattern, start.rank, start.offset});
      accesses += one->pattern.accesses() * one->processes;
      if (common.start_ns == unknown_time) common.start_ns = one->start_ns;
      if (one->start_ns != unknown_time) common.start_ns = std::min(common.start_ns, one->start_ns);
      common.end_ns = std::max(common.end_ns, one->end_ns);
    }
    std::vector<uint32_t> ranks;
    for (const PlacedPattern& one : placed) {
      ranks.push_back(one.rank);
      common.own_starts.push_back(one.offset);
    }
    std::sort(ranks.begin(), ranks.end());
    common.ranks = ranges_of(ranks);
    common.processes = static_cast<uint32_t>(ranks.size());
    set_space(common, alike.front()->pattern, placed);
    return {written(common, notation(common.own_starts), common_signature(alike)), accesses};
  }

 private:
  std::string written(const GlobalPattern& pattern, const std::string& base,
                      const std::string& local) const {
    std::string text = "{" + std::to_string(pattern.processes);
    text += ", <" + std::string(name_of(pattern.spatial));
    text += ", " + std::to_string(pattern.dimension);
    text += pattern.overlapping ? ", overlapping>, " : ">, ";
    text += notation(pattern.ranks) + ", " + base + ", ";
    text += seconds(pattern.start_ns, zero_ns_) + ", " + seconds(pattern.end_ns, zero_ns_);
    return text + ", " + local + "}";
  }

  static void set_space(GlobalPattern& common, const Pattern& first,
                        const std::vector<PlacedPattern>& placed) {
    const std::optional<Extents> extents = look_at_extents(placed);
    common.overlapping = extents && extents->overlapping;
    if (extents && !extents->holes) {
      common.spatial = Spatial::contiguous;
      common.dimension = 1;
      return;
    }
    const Classes local = classify(first, {}, 1);
    const bool by_chance = local.spatial == Spatial::single || local.spatial == Spatial::random;
    common.spatial = by_chance ? Spatial::random : Spatial::combination;
    common.dimension = local.dimension;
  }

  std::string common_signature(const std::vector<const GlobalPattern*>& alike) const {
    Classes common = classes_of(*alike.front());
    const int64_t size = alike.front()->pattern.first_access().size;
    uint64_t most = common.repetitions;
    for (const GlobalPattern* one : alike) {
      const Classes classes = classes_of(*one);
      common.backward = common.backward || classes.backward;
      common.repetitions = std::min(common.repetitions, classes.repetitions);
      most = std::max(most, classes.repetitions);
      if (classes.magnitude != common.magnitude) common.magnitude = Magnitude::mixed;
      if (classes.sizes != common.sizes || one->pattern.first_access().size != size)
        common.sizes = Sizes::variable;
      if (classes.temporal != common.temporal) common.temporal = Temporal::random;
    }
    return pattern_signature(common, most);
  }

  Operations operations_;
  int64_t page_bytes_;
  int64_t zero_ns_;
};

// Patterns without a common rule, by direction and spatial class: the first one of each rank, the
// second one of each rank ...
class AlikePatterns {
 public:
  void add(const GlobalPattern& pattern, const Classes& classes) {
    const Key key{classes.direction, classes.spatial, classes.dimension};
    std::map<uint32_t, std::size_t>& seen = seen_[key];
    std::size_t turn = 0;
    for (const GlobalPattern::Start& start : pattern.starts())
      turn = std::max(turn, seen[start.rank]);
    for (const GlobalPattern::Start& start : pattern.starts()) seen[start.rank] = turn + 1;
    std::vector<Turn>& turns = turns_[key];
    if (turn >= turns.size()) turns.resize(turn + 1);
    turns[turn].patterns.push_back(&pattern);
    turns[turn].processes += pattern.processes;
  }

  // Calls `visit(patterns)` for each such group that has enough ranks for a line.
  template <typename Visit>
  void visit(const Visit& visit) const {
    for (const auto& [key, turns] : turns_) {
      for (const Turn& turn : turns) {
        if (turn.patterns.size() > 1 && turn.processes >= fewest_alike) visit(turn.patterns);
      }
    }
  }

 private:
  using Key = std::tuple<Direction, Spatial, uint32_t>;
  struct Turn {
    std::vector<const GlobalPattern*> patterns;
    uint64_t processes = 0;
  };

  std::map<Key, std::map<uint32_t, std::size_t>> seen_;  // number of patterns so far, by rank
  std::map<Key, std::vector<Turn>> turns_;
};

}  // namespace

std::string notation(const std::vector<RankRange>& ranks) {
  std::string text = "[";
  for (const RankRange& range : ranks) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(range.first);
    if (range.last != range.first) text += "-" + std::to_string(range.last);
    if (range.step != 1) text += "/" + std::to_string(range.step);
  }
  return text + "]";
}

std::string notation(const Base& base) {
  std::string index = "rank";
  const bool from_zero = base.first_rank == 0 && base.rank_step == 1;
  if (base.width == 0 && base.step % base.rank_step == 0) {
    if (base.step == 0) return std::to_string(base.begin);
    const int64_t a = base.step / base.rank_step;
    return std::to_string(a) + "*rank" +
           signed_number(minus(base.begin, times(a, base.first_rank)));
  }
  if (!from_zero) {
    index = "(rank - " + std::to_string(base.first_rank) + ")";
    if (base.rank_step != 1) index = "(" + index + "/" + std::to_string(base.rank_step) + ")";
  }
  if (base.width == 0) return std::to_string(base.step) + "*" + index + signed_number(base.begin);
  const std::string width = std::to_string(base.width);
  return std::to_string(base.step) + "*(" + index + " mod " + width + ") + " +
         std::to_string(base.row_step) + "*(" + index + " div " + width + ")" +
         signed_number(base.begin);
}

std::string notation(const std::vector<int64_t>& own_starts) {
  const auto [least, most] = std::minmax_element(own_starts.begin(), own_starts.end());
  return "own starts " + std::to_string(*least) + " to " + std::to_string(*most);
}

std::vector<Line> global_signature(const GlobalSignature& signature, Operations operations,
                                   int64_t page_bytes, int64_t zero_ns) {
  const LineWriter writer(operations, page_bytes, zero_ns);
  AlikePatterns unruled;
  for (const GlobalPattern& pattern : signature.patterns) {
    if (pattern.processes == 1 || !pattern.own_starts.empty())
      unruled.add(pattern, writer.classes_of(pattern));
  }
  std::map<const GlobalPattern*, Line> of_first;  // lines of several patterns, by the first pattern
  std::set<const GlobalPattern*> others;
  unruled.visit([&](const std::vector<const GlobalPattern*>& alike) {
    of_first.emplace(alike.front(), writer.of(alike));
    others.insert(alike.begin() + 1, alike.end());
  });
  std::vector<Line> lines;
  for (const GlobalPattern& pattern : signature.patterns) {
    if (others.contains(&pattern)) continue;
    const auto shared = of_first.find(&pattern);
    lines.push_back(shared == of_first.end() ? writer.of(pattern) : shared->second);
  }
  return lines;
}

}  // namespace forebay::pattern
