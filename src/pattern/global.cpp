#include "pattern/global.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pattern/notation.h"

namespace forebay::pattern {

namespace {

constexpr std::size_t fewest_in_line = 3;             // ranks that show a rule
constexpr uint64_t most_extents = uint64_t{1} << 16;  // looked at one by one

// One rank's occurrence of a pattern.
struct Occurrence {
  uint32_t rank;
  uint32_t thread;  // how manieth of the rank's signatures
  int64_t position;
  uint64_t index;  // of its first access, in that signature
  int64_t start_ns;
  int64_t end_ns;
};

using Occurrences = std::span<const Occurrence>;

// The rule of a pattern's ranks, if there is one for all: the smallest grid, or a line.
class Fit {
 public:
  explicit Fit(Occurrences ranks) : ranks_(ranks) {
    base_.first_rank = ranks.front().rank;
    base_.begin = ranks.front().position;
    uint32_t step = 0;
    for (const Occurrence& one : ranks) step = std::gcd(step, one.rank - base_.first_rank);
    base_.rank_step = std::max(step, 1u);
  }

  // How many of the ranks, from the first on, lie in a line.
  std::size_t line() {
    if (ranks_.size() == 1) return 1;
    const auto distance = static_cast<int64_t>(index(1));
    const int64_t moved = minus(ranks_[1].position, base_.begin);
    if (moved % distance != 0) return 1;
    base_.width = 0;
    base_.step = moved / distance;
    return kept();
  }

  // Whether all lie in a grid whose first row is the `width` ranks in line.
  bool grid(std::size_t width) {
    // With fewer than two rows anything is a grid.
    if (width < 2 || ranks_.size() < 2 * width || index(width) != width) return false;
    base_.width = static_cast<uint32_t>(width);
    base_.row_step = minus(ranks_[width].position, base_.begin);
    return kept() == ranks_.size();
  }

  const Base& base() const { return base_; }

 private:
  uint32_t index(std::size_t i) const {
    return (ranks_[i].rank - base_.first_rank) / base_.rank_step;
  }
  std::size_t kept() const {
    const auto broken = std::find_if(ranks_.begin(), ranks_.end(), [&](const Occurrence& one) {
      return base_.at(one.rank) != one.position;
    });
    return static_cast<std::size_t>(broken - ranks_.begin());
  }

  Occurrences ranks_;
  Base base_;
};

// The longest run of ranks from the first on that has a rule worth its name.
std::size_t fit(Occurrences ranks, Base& base) {
  Fit all(ranks);
  const std::size_t line = all.line();
  if (line == ranks.size() || (all.grid(line))) {
    base = all.base();
    return ranks.size();
  }
  // Every beginning of a line is one, so the longest is found by halving.
  std::size_t longest = 1;
  for (std::size_t beyond = ranks.size(); beyond - longest > 1;) {
    const std::size_t middle = longest + (beyond - longest) / 2;
    (Fit(ranks.first(middle)).line() == middle ? longest : beyond) = middle;
  }
  if (longest < fewest_in_line) longest = 1;
  Fit part(ranks.first(longest));
  part.line();
  base = part.base();
  return longest;
}

// A level of steps of the bytes of all ranks.
struct Level {
  uint64_t step;  // whichever its direction
  uint64_t count;
  bool of_ranks;
};

uint64_t magnitude(int64_t value) {
  return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// The levels of a pattern in which everything moves together; false if it has none such.
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

// Sorted by step, a level either continues what the smaller ones cover, or leaves holes, or goes
// over the same bytes. Returns false where it may do either.
bool classify_levels(std::vector<Level> levels, int64_t block, GlobalPattern& pattern) {
  std::sort(levels.begin(), levels.end(),
            [](const Level& a, const Level& b) { return a.step < b.step; });
  uint64_t covered = static_cast<uint64_t>(block);  // from the first byte to the last
  uint64_t continues_at = covered;                  // the step that keeps the distances even
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

// Looks at every extent, where there are few enough.
void classify_extents(GlobalPattern& pattern, Occurrences occurrences) {
  const Classes local = classify(pattern.pattern, {}, 1);
  const bool as_locally = pattern.processes == 1 || local.spatial == Spatial::random;
  pattern.spatial = as_locally ? local.spatial : Spatial::combination;
  pattern.dimension = local.dimension;
  pattern.overlapping = false;
  if (pattern.pattern.accesses() > most_extents / pattern.processes) return;
  struct Touched {
    int64_t begin;
    int64_t end;
    uint32_t rank;
  };
  std::vector<Touched> extents;
  for (const Occurrence& one : occurrences) {
    for (Walk walk(pattern.pattern); !walk.done(); walk.advance()) {
      const Access access = walk.access();
      const int64_t begin = plus(one.position, access.offset);
      extents.push_back({begin, plus(begin, access.size), one.rank});
    }
  }
  std::sort(extents.begin(), extents.end(),
            [](const Touched& a, const Touched& b) { return a.begin < b.begin; });
  bool holes = false;
  Touched last = extents.front();
  for (const Touched& one : extents) {
    holes = holes || one.begin > last.end;
    pattern.overlapping = pattern.overlapping || (one.begin < last.end && one.rank != last.rank);
    if (one.end > last.end) last = one;
  }
  if (!holes) {
    pattern.spatial = Spatial::contiguous;
    pattern.dimension = 1;
  }
}

bool full(const GlobalPattern& pattern) {
  return pattern.ranks.size() == 1 &&
         (pattern.base.width == 0 || pattern.processes % pattern.base.width == 0);
}

void classify_globally(GlobalPattern& pattern, Occurrences occurrences) {
  std::vector<Level> levels;
  int64_t block = 0;
  if (pattern.processes == 1 && !pattern.pattern.is_loop()) return;  // a single access
  if (full(pattern) && levels_of(pattern.pattern, levels, block) && block >= 0) {
    add_rank_levels(pattern, levels);
    if (classify_levels(std::move(levels), block, pattern)) return;
  }
  classify_extents(pattern, occurrences);
}

// Where a signature begins. Threads are numbered as chance has it; by their beginnings those of
// different ranks that do the same are the how manieth that they are.
int64_t first_offset(const Signature& signature) {
  Access access;
  return Cursor(signature).next(access) ? access.offset : std::numeric_limits<int64_t>::max();
}

// Patterns of all ranks by what they are and, where a rank has one several times, the how manieth.
class Merger {
 public:
  // Those of one rank follow each other.
  void add(const LocalSignature& local) {
    begin(local.rank);
    const Signature& signature = *local.signature;
    const uint64_t raw = signature.accesses - signature.covered - signature.lost;
    result_.accesses += signature.accesses;
    result_.lost += signature.lost;
    const bool look_at_raw = raw <= most_raw_accesses;
    if (!look_at_raw) result_.unmerged += raw;
    for (const Part& part : signature.parts) {
      if (part.kind == Part::Kind::pattern) {
        add(signature.patterns[part.pattern],
            {local.rank, thread_, part.position, part.first, part.start_ns, part.end_ns});
      } else if (part.kind == Part::Kind::raw && look_at_raw) {
        add_raw(local.rank, signature, part);
      }
    }
  }

  GlobalSignature result() {
    result_.processes = static_cast<uint32_t>(ranks_.size());
    result_.ranks = ranges_of(ranks_);
    for (const Group& group : groups_) {
      for (const auto& occurrences : group.occurrences) cut(group.pattern, occurrences);
    }
    for (auto& [ranks, run] : runs_) append_run(run);
    std::stable_sort(
        result_.patterns.begin(), result_.patterns.end(),
        [](const GlobalPattern& a, const GlobalPattern& b) { return a.start_ns < b.start_ns; });
    return std::move(result_);
  }

 private:
  struct Group {
    Pattern pattern;
    std::vector<std::vector<Occurrence>> occurrences;  // the ranks' first ones, their second ones
    std::size_t of_this_rank = 0;
  };
  // An access that is in no pattern of its ranks.
  struct RankedAccess {
    Pattern access;
    Base base;
    std::vector<Occurrence> occurrences;
  };
  using RunOfRanks = std::vector<RankedAccess>;
  // Ranks; thread of the first; width, step and row step of where they begin.
  using RankRule = std::tuple<std::vector<uint32_t>, uint32_t, uint32_t, int64_t, int64_t>;

  void add_raw(uint32_t rank, const Signature& signature, const Part& part) {
    Cursor cursor(signature, part.first);
    Access access;
    for (uint64_t i = 0; i < part.accesses && cursor.next(access); ++i) {
      Pattern pattern;
      pattern.size = access.size;
      pattern.operation = access.operation;
      add(pattern, {rank, thread_, access.offset, part.first + i, part.start_ns, part.end_ns});
    }
  }

  void begin(uint32_t rank) {
    if (!ranks_.empty() && ranks_.back() == rank) {
      ++thread_;
      return;
    }
    for (Group& group : groups_) group.of_this_rank = 0;
    ranks_.push_back(rank);
    thread_ = 0;
  }

  void add(const Pattern& pattern, const Occurrence& occurrence) {
    auto [same, end] = known_.equal_range(pattern.structure());
    while (same != end && !groups_[same->second].pattern.same_accesses(pattern)) ++same;
    if (same == end) {
      same = known_.emplace(pattern.structure(), groups_.size());
      groups_.push_back({pattern, {}, 0});
    } else {
      groups_[same->second].pattern.add_times(pattern);
    }
    Group& group = groups_[same->second];
    if (group.of_this_rank == group.occurrences.size()) group.occurrences.emplace_back();
    group.occurrences[group.of_this_rank++].push_back(occurrence);
  }

  // Into groups of ranks that have a rule each.
  void cut(const Pattern& pattern, std::vector<Occurrence> occurrences) {
    std::sort(occurrences.begin(), occurrences.end(),
              [](const Occurrence& a, const Occurrence& b) { return a.rank < b.rank; });
    for (Occurrences rest(occurrences); !rest.empty();) {
      Base base;
      const std::size_t length = fit(rest, base);
      const Occurrences group = rest.first(length);
      if (pattern.is_loop()) {
        append(pattern, base, group);
      } else {
        std::vector<uint32_t> ranks;
        for (const Occurrence& one : group) ranks.push_back(one.rank);
        RunOfRanks& run =
            runs_[{std::move(ranks), group.front().thread, base.width, base.step, base.row_step}];
        run.push_back({pattern, base, {group.begin(), group.end()}});
      }
      rest = rest.subspan(length);
    }
  }

  // Accesses of the same ranks by the same rule, in the order in which the first rank made them.
  void append_run(RunOfRanks& run) {
    std::sort(run.begin(), run.end(), [](const RankedAccess& a, const RankedAccess& b) {
      return a.occurrences.front().index < b.occurrences.front().index;
    });
    const RankedAccess& first = run.front();
    if (run.size() == 1) return append(first.access, first.base, first.occurrences);
    Pattern pattern;
    pattern.count = 1;
    std::vector<Occurrence> occurrences = first.occurrences;
    for (const RankedAccess& one : run) {
      pattern.body.push_back(one.access);
      pattern.body.back().offset = minus(one.base.begin, first.base.begin);
      pattern.body.back().steps.emplace_back();
      for (std::size_t i = 0; i < occurrences.size(); ++i) {
        occurrences[i].end_ns = std::max(occurrences[i].end_ns, one.occurrences[i].end_ns);
      }
    }
    append(pattern, first.base, occurrences);
  }

  void append(const Pattern& pattern, const Base& base, Occurrences occurrences) {
    GlobalPattern global;
    global.pattern = pattern;
    global.base = base;
    global.start_ns = occurrences.front().start_ns;
    global.end_ns = occurrences.front().end_ns;
    std::vector<uint32_t> ranks;
    for (const Occurrence& one : occurrences) {
      ranks.push_back(one.rank);
      if (global.start_ns == unknown_time || one.start_ns < global.start_ns) {
        if (one.start_ns != unknown_time) global.start_ns = one.start_ns;
      }
      global.end_ns = std::max(global.end_ns, one.end_ns);
    }
    global.ranks = ranges_of(ranks);
    global.processes = static_cast<uint32_t>(ranks.size());
    classify_globally(global, occurrences);
    if (pattern.count >= fewest_in_line || global.processes >= fewest_in_line) {
      result_.covered += pattern.accesses() * global.processes;
    }
    result_.patterns.push_back(std::move(global));
  }

  std::vector<Group> groups_;
  std::map<RankRule, RunOfRanks> runs_;
  std::unordered_multimap<uint64_t, std::size_t> known_;  // groups by structure
  std::vector<uint32_t> ranks_;
  uint32_t thread_ = 0;
  GlobalSignature result_;
};

std::string signed_number(int64_t number) {
  return (number < 0 ? " - " : " + ") + std::to_string(magnitude(number));
}

std::string seconds(int64_t time_ns) {
  if (time_ns == unknown_time) return "unknown";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6f", static_cast<double>(time_ns) * 1e-9);
  return text.data();
}

}  // namespace

int64_t Base::at(uint32_t rank) const {
  const uint32_t i = (rank - first_rank) / rank_step;
  if (width == 0) return plus(begin, times(step, i));
  return plus(begin, plus(times(step, i % width), times(row_step, i / width)));
}

GlobalSignature merge(std::span<const LocalSignature> locals) {
  struct Placed {
    LocalSignature local;
    int64_t first_offset;
  };
  std::vector<Placed> placed;
  for (const LocalSignature& local : locals)
    placed.push_back({local, first_offset(*local.signature)});
  std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.local.rank, a.first_offset) < std::tie(b.local.rank, b.first_offset);
  });
  Merger merger;
  for (const Placed& one : placed) merger.add(one.local);
  return merger.result();
}

std::vector<RankRange> ranges_of(std::span<const uint32_t> ranks) {
  std::vector<RankRange> ranges;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin + 1;
    uint32_t step = 1;
    if (end < ranks.size()) {
      step = ranks[end] - ranks[begin];
      while (end < ranks.size() && ranks[end] - ranks[end - 1] == step) ++end;
      if (end - begin == 2 && step > 1) --end;  // two ranks are no range
    }
    if (end - begin == 1) step = 1;
    ranges.push_back({ranks[begin], ranks[end - 1], step});
    begin = end;
  }
  return ranges;
}

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

std::string global_signature(const GlobalSignature& signature, Operations operations,
                             int64_t page_bytes) {
  std::string text;
  for (const GlobalPattern& pattern : signature.patterns) {
    text += "{" + std::to_string(pattern.processes) + ", <" + std::string(name_of(pattern.spatial));
    text += ", " + std::to_string(pattern.dimension);
    text += pattern.overlapping ? ", overlapping>, " : ">, ";
    text += notation(pattern.ranks) + ", " + notation(pattern.base) + ", ";
    text += seconds(pattern.start_ns) + ", " + seconds(pattern.end_ns) + ", ";
    text += pattern_signature(classify(pattern.pattern, operations, page_bytes)) + "}\n";
  }
  return text;
}

}  // namespace forebay::pattern
