#include "pattern/global.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "pattern/global_space.h"

namespace forebay::pattern {

namespace {

constexpr std::size_t fewest_in_line = 3;  // ranks that establish a rule

// One rank's occurrence of a pattern.
struct Occurrence {
  uint32_t rank;
  uint32_t thread;  // index among the rank's signatures
  int64_t position;
  uint64_t index;  // of its first access within that signature
  int64_t start_ns;
  int64_t end_ns;
};

using Occurrences = std::span<const Occurrence>;

// Finds one rule for a pattern in all ranks: a line, or the smallest grid.
class Fit {
 public:
  explicit Fit(Occurrences ranks) : ranks_(ranks) {
    base_.first_rank = ranks.front().rank;
    base_.begin = ranks.front().position;
    uint32_t step = 0;
    for (const Occurrence& one : ranks) step = std::gcd(step, one.rank - base_.first_rank);
    base_.rank_step = std::max(step, 1u);
  }

  // How many of the ranks, counted from the first, are in one line.
  std::size_t line() {
    if (ranks_.size() == 1) return 1;
    const auto distance = static_cast<int64_t>(index(1));
    const int64_t moved = minus(ranks_[1].position, base_.begin);
    if (moved % distance != 0) return 1;
    base_.width = 0;
    base_.step = moved / distance;
    return kept();
  }

  // Whether all ranks are in a grid whose first row is the first `width` ranks.
  bool grid(std::size_t width) {
    // Any ranks form a grid of fewer than two rows.
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

// The longest run of ranks from the first on that follows a rule.
std::size_t fit(Occurrences ranks, Base& base) {
  Fit all(ranks);
  const std::size_t line = all.line();
  if (line == ranks.size() || (all.grid(line))) {
    base = all.base();
    return ranks.size();
  }
  // Each beginning of a line is a line, so bisection finds the longest.
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

// Offset of a signature's first access. Thread numbers depend on chance. Sorting a rank's
// signatures by their first offset gives the same index to threads of different ranks that do the
// same.
int64_t first_offset(const Signature& signature) {
  Access access;
  return Cursor(signature).next(access) ? access.offset : std::numeric_limits<int64_t>::max();
}

// Ranks' patterns, grouped by equal accesses.
template <typename Members>
class PatternGroups {
 public:
  struct Group {
    Pattern pattern;
    Members members;
  };

  // The group of patterns with the same accesses. Adds the times of `pattern` to the group's.
  Members& of(const Pattern& pattern) {
    auto [same, end] = known_.equal_range(pattern.structure());
    while (same != end && !groups_[same->second].pattern.same_accesses(pattern)) ++same;
    if (same == end) {
      known_.emplace(pattern.structure(), groups_.size());
      return groups_.emplace_back(Group{pattern, {}}).members;
    }
    groups_[same->second].pattern.add_times(pattern);
    return groups_[same->second].members;
  }

  auto begin() { return groups_.begin(); }
  auto end() { return groups_.end(); }

 private:
  std::vector<Group> groups_;
  std::unordered_multimap<uint64_t, std::size_t> known_;  // groups by structure
};

// Merges what the ranks have in common.
class Merger {
 public:
  // Signatures of the same rank must be added one after the other.
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
    for (auto& [pattern, turns] : groups_) {
      for (auto& occurrences : turns.occurrences) {
        std::sort(occurrences.begin(), occurrences.end(),
                  [](const Occurrence& a, const Occurrence& b) { return a.rank < b.rank; });
        if (pattern.is_loop()) {
          append_loop(pattern, rules_of(occurrences));
        } else {
          take_access(pattern, rules_of(occurrences));
        }
      }
    }
    for (auto& [rule, run] : runs_) append_run(run);
    for (auto& [thread, runs] : lone_runs_) {
      for (const auto& [pattern, occurrences] : runs)
        append_own(pattern, occurrences, pattern.is_loop());
    }
    std::stable_sort(
        result_.patterns.begin(), result_.patterns.end(),
        [](const GlobalPattern& a, const GlobalPattern& b) { return a.start_ns < b.start_ns; });
    return std::move(result_);
  }

 private:
  // The occurrences of a pattern: the first one of each rank, the second one of each rank ...
  struct Turns {
    std::vector<std::vector<Occurrence>> occurrences;
    uint32_t rank = 0;  // rank of the latest occurrence
    std::size_t of_rank = 0;
  };
  // Ranks whose starts follow a rule.
  struct Ruled {
    Base base;
    Occurrences ranks;
  };
  // The starts of a pattern: several ranks with rules, and single ranks.
  struct Rules {
    std::vector<Ruled> ruled;
    std::vector<Occurrence> others;

    bool too_many() const { return ruled.size() > most_rules; }
  };
  // An access that is in no pattern within its ranks.
  struct RankedAccess {
    Pattern access;
    Base base;
    bool has_rule;
    std::vector<Occurrence> occurrences;
  };
  using RunOfRanks = std::vector<RankedAccess>;
  // The ranks; the thread of the first; and width, step and row step of the starts, or without a
  // rule the distances from the first rank's start.
  using RankRule =
      std::tuple<std::vector<uint32_t>, uint32_t, uint32_t, int64_t, int64_t, std::vector<int64_t>>;

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
    ranks_.push_back(rank);
    thread_ = 0;
  }

  void add(const Pattern& pattern, const Occurrence& occurrence) {
    Turns& turns = groups_.of(pattern);
    if (turns.rank != occurrence.rank) turns.of_rank = 0;
    turns.rank = occurrence.rank;
    if (turns.of_rank == turns.occurrences.size()) turns.occurrences.emplace_back();
    turns.occurrences[turns.of_rank++].push_back(occurrence);
  }

  // The rules of the occurrences, which are by rank, one of each. Two ranks always form a line,
  // which proves nothing unless the job has only these two.
  Rules rules_of(Occurrences occurrences) const {
    Rules rules;
    while (!occurrences.empty()) {
      Base base;
      const std::size_t length = fit(occurrences, base);
      const Occurrences group = occurrences.first(length);
      if (length >= fewest_in_line || length == ranks_.size()) {
        rules.ruled.push_back({base, group});
      } else {
        rules.others.insert(rules.others.end(), group.begin(), group.end());
      }
      occurrences = occurrences.subspan(length);
    }
    return rules;
  }

  static std::vector<Occurrence> all_ruled(const Rules& rules) {
    std::vector<Occurrence> all;
    for (const Ruled& one : rules.ruled) all.insert(all.end(), one.ranks.begin(), one.ranks.end());
    return all;
  }

  void append_loop(const Pattern& pattern, Rules rules) {
    if (rules.too_many()) {
      const std::vector<Occurrence> ruled = all_ruled(rules);
      const std::size_t alone = rules.others.size();
      rules.others.insert(rules.others.end(), ruled.begin(), ruled.end());
      std::inplace_merge(rules.others.begin(),
                         rules.others.begin() + static_cast<std::ptrdiff_t>(alone),
                         rules.others.end(),
                         [](const Occurrence& a, const Occurrence& b) { return a.rank < b.rank; });
    } else {
      for (const Ruled& one : rules.ruled) append_ruled(pattern, one.base, one.ranks);
    }
    if (!rules.others.empty()) append_own(pattern, rules.others, true);
  }

  // Accesses of single ranks are joined once all other accesses without pattern of these ranks are
  // known.
  void take_access(const Pattern& access, const Rules& rules) {
    if (rules.too_many()) {
      take_ranked({access, {}, false, all_ruled(rules)});
    } else {
      for (const Ruled& one : rules.ruled)
        take_ranked({access, one.base, true, {one.ranks.begin(), one.ranks.end()}});
    }
    for (const Occurrence& one : rules.others) take_ranked({access, {}, false, {one}});
  }

  void take_ranked(RankedAccess ranked) {
    const Occurrence& first = ranked.occurrences.front();
    std::vector<uint32_t> ranks;
    std::vector<int64_t> distances;
    for (const Occurrence& one : ranked.occurrences) {
      ranks.push_back(one.rank);
      if (!ranked.has_rule) distances.push_back(minus(one.position, first.position));
    }
    const Base& base = ranked.base;
    RankRule rule{std::move(ranks), first.thread,  base.width,
                  base.step,        base.row_step, std::move(distances)};
    runs_[std::move(rule)].push_back(std::move(ranked));
  }

  // Appends accesses of the same ranks by the same rule, in the order in which the first rank made
  // them.
  void append_run(RunOfRanks& run) {
    std::sort(run.begin(), run.end(), [](const RankedAccess& a, const RankedAccess& b) {
      return a.occurrences.front().index < b.occurrences.front().index;
    });
    const RankedAccess& first = run.front();
    std::vector<Occurrence> occurrences = first.occurrences;
    Pattern pattern = first.access;
    if (run.size() > 1) pattern = joined(run, occurrences);
    if (first.has_rule) {
      append_ruled(pattern, first.base, occurrences);
    } else if (occurrences.size() > 1) {
      append_own(pattern, occurrences, true);
    } else {
      lone_runs_[occurrences.front().thread].of(pattern).push_back(occurrences.front());
    }
  }

  // Joins the accesses into one pattern. `occurrences` are those of the first access; their ends
  // become those of the last.
  static Pattern joined(const RunOfRanks& run, std::vector<Occurrence>& occurrences) {
    Pattern pattern;
    pattern.count = 1;
    const int64_t begin = occurrences.front().position;
    for (const RankedAccess& one : run) {
      pattern.body.push_back(one.access);
      pattern.body.back().offset = minus(one.occurrences.front().position, begin);
      pattern.body.back().steps.emplace_back();
      for (std::size_t i = 0; i < occurrences.size(); ++i)
        occurrences[i].end_ns = std::max(occurrences[i].end_ns, one.occurrences[i].end_ns);
    }
    return pattern;
  }

  void append_ruled(const Pattern& pattern, const Base& base, Occurrences occurrences) {
    GlobalPattern global;
    global.base = base;
    append(std::move(global), pattern, occurrences, true);
  }

  // Appends a pattern of one rank, or of ranks without a common rule. `is_pattern`: it is a pattern
  // in each rank, wherever it starts.
  void append_own(const Pattern& pattern, Occurrences occurrences, bool is_pattern) {
    GlobalPattern global;
    if (occurrences.size() == 1) {
      global.base = Fit(occurrences).base();
    } else {
      for (const Occurrence& one : occurrences) global.own_starts.push_back(one.position);
    }
    append(std::move(global), pattern, occurrences, is_pattern);
  }

  void append(GlobalPattern global, const Pattern& pattern, Occurrences occurrences,
              bool is_pattern) {
    global.pattern = pattern;
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
    classify_globally(global);
    if (pattern.count >= fewest_in_line || (is_pattern && global.processes >= fewest_in_line)) {
      result_.covered += pattern.accesses() * global.processes;
    }
    result_.patterns.push_back(std::move(global));
  }

  PatternGroups<Turns> groups_;
  std::map<RankRule, RunOfRanks> runs_;
  // Accesses without pattern of single ranks, by the rank's thread.
  std::map<uint32_t, PatternGroups<std::vector<Occurrence>>> lone_runs_;
  std::vector<uint32_t> ranks_;
  uint32_t thread_ = 0;
  GlobalSignature result_;
};

}  // namespace

int64_t Base::at(uint32_t rank) const {
  const uint32_t i = (rank - first_rank) / rank_step;
  if (width == 0) return plus(begin, times(step, i));
  return plus(begin, plus(times(step, i % width), times(row_step, i / width)));
}

std::vector<GlobalPattern::Start> GlobalPattern::starts() const {
  std::vector<Start> all;
  all.reserve(processes);
  for (const RankRange& range : ranks) {
    for (uint32_t i = 0; i < range.count(); ++i) {
      const uint32_t rank = range.first + i * range.step;
      all.push_back({rank, own_starts.empty() ? base.at(rank) : own_starts[all.size()]});
    }
  }
  return all;
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

}  // namespace forebay::pattern
