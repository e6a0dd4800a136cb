#include "sim/process_rule.h"

#include <cstddef>
#include <map>
#include <tuple>

namespace forebay::sim {

std::vector<Kind> find_kinds(const AccessLog& log, std::vector<Member>& members) {
  std::map<std::tuple<bool, bool, int64_t>, uint32_t> numbers;
  std::vector<Kind> kinds;
  std::vector<std::map<uint32_t, uint32_t>> members_with;  // by kind: by calls, how many members
  for (Member& member : members) {
    std::map<uint32_t, uint32_t> made;
    for (const uint32_t number : member.accesses) {
      const DataAccess& access = log.accesses()[number];
      const auto [at, is_new] = numbers.try_emplace(
          {access.writes, access.group != independent, access.bytes}, kinds.size());
      if (is_new) kinds.push_back({0, access.bytes});
      member.calls.push_back({number, at->second, made[at->second]++});
    }
    std::sort(member.calls.begin(), member.calls.end(), [](const Call& one, const Call& other) {
      return std::pair(one.kind, one.nth) < std::pair(other.kind, other.nth);
    });
    members_with.resize(kinds.size());
    for (const auto& [kind, count] : made) ++members_with[kind][count];
  }
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    uint32_t most = 0;
    for (const auto& [count, with] : members_with[k]) {
      if (with > most) kinds[k].calls = count;
      most = std::max(most, with);
    }
    if (most < 2 || 2 * most < members.size()) kinds[k].calls = 0;
  }
  return kinds;
}

namespace {

constexpr std::size_t most_runs = std::size_t{1} << 25;  // of one access

std::vector<Extent> runs_of(const AccessLog& log, const Call& call) {
  std::vector<Extent> runs;
  for_runs(log, log.accesses()[call.access], [&](Extent run) {
    runs.push_back(run);
    return runs.size() <= most_runs;
  });
  return runs;
}

// Finds how the runs of a call move from row to row: first the step of most rows (a majority vote),
// then whether the others fit.
class Steps {
 public:
  // The runs of a member in `row`, which grows. False: they are others than before.
  bool vote(const std::vector<Extent>& runs, int64_t row) {
    return next(runs, row, [this](std::size_t i, int64_t distance, int64_t rows) {
      Run& run = runs_[i];
      if (distance % rows == 0 && distance / rows == run.step) {
        ++run.votes;
      } else if (run.votes == 0) {
        run.step = distance / rows;
        run.votes = 1;
      } else {
        --run.votes;
      }
      return true;
    });
  }
  // The same once more, from the first row on. False: a distance is smaller than the steps.
  bool check(const std::vector<Extent>& runs, int64_t row) {
    return next(runs, row, [this](std::size_t i, int64_t distance, int64_t rows) {
      int64_t wanted = 0;
      if (__builtin_mul_overflow(runs_[i].step, rows, &wanted)) return false;
      if (distance == wanted) ++runs_[i].matches;
      return distance >= wanted;
    });
  }
  void again() { rows_ = 0; }
  // The runs with their steps; nothing: fewer than three quarters of the rows fit.
  std::optional<std::vector<Placed>> placed(int64_t rows) const {
    std::vector<Placed> all;
    all.reserve(runs_.size());
    for (const Run& run : runs_) {
      int64_t beyond = 0, last = 0;
      if (run.step < 0 || 4 * run.matches < 3 * (rows_ - 1) ||
          __builtin_mul_overflow(run.step, rows - 1 - row_, &beyond) ||
          __builtin_add_overflow(run.at.offset, beyond, &last))
        return std::nullopt;
      all.push_back({run.first, run.step, last});
    }
    return all;
  }

 private:
  struct Run {
    Extent first, at;
    int64_t step = -1;
    int64_t votes = 0, matches = 0;
  };

  template <typename Each>
  bool next(const std::vector<Extent>& runs, int64_t row, const Each& each) {
    if (rows_ == 0) {
      if (runs_.empty()) {
        for (const Extent run : runs) runs_.push_back({run, run});
      }
      for (std::size_t i = 0; i < runs.size(); ++i) runs_[i].at = runs[i];
    } else {
      if (runs.size() != runs_.size()) return false;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].length != runs_[i].at.length ||
            !each(i, runs[i].offset - runs_[i].at.offset, row - row_))
          return false;
        runs_[i].at = runs[i];
      }
    }
    row_ = row;
    ++rows_;
    return true;
  }

  std::vector<Run> runs_;
  int64_t row_ = 0, rows_ = 0;  // the last row; how many there were
};

// A member that makes the calls of a kind, and its row.
struct InRow {
  std::size_t member;
  int64_t row;
};

// The runs of call `n` of a kind in these rows, which grow; nothing: they follow no rule.
std::optional<std::vector<Placed>> placed_in(const AccessLog& log, const Shared& shared,
                                             uint32_t kind, uint32_t n,
                                             std::span<const InRow> order, int64_t rows) {
  const auto runs = [&](std::size_t member) {
    return runs_of(log, shared.members[member].of_kind(kind)[n]);
  };
  Steps steps;
  for (const InRow& one : order) {
    if (!steps.vote(runs(one.member), one.row)) return std::nullopt;
  }
  steps.again();
  for (const InRow& one : order) {
    if (!steps.check(runs(one.member), one.row)) return std::nullopt;
  }
  return steps.placed(rows);
}

// The same rows, if the member whose part comes first is to be in row 0 and those before it follow
// the last. Nothing: it is there.
std::optional<uint32_t> turn_of(const AccessLog& log, const Shared& shared, uint32_t kind,
                                uint32_t n, std::span<const InRow> order) {
  const auto first = std::ranges::min_element(order, {}, [&](const InRow& one) {
    return log.accesses()[shared.members[one.member].of_kind(kind)[n].access].offset;
  });
  if (first->member == 0) return std::nullopt;
  return static_cast<uint32_t>(shared.members.size() - first->member);
}

// Fills the calls of a kind in a column. False: they follow no rule.
bool find_calls(const AccessLog& log, const Shared& shared, uint32_t kind, std::size_t column,
                Rule& rule) {
  const std::size_t count = shared.members.size();
  std::vector<InRow> order;
  for (std::size_t m = column; m < count; m += rule.width) {
    if (shared.follows(m, kind)) order.push_back({m, static_cast<int64_t>(m / rule.width)});
  }
  if (order.size() < 2) return false;
  const auto rows = static_cast<int64_t>(count / rule.width);
  Rule::Calls& calls = rule.columns[column][kind];
  for (uint32_t n = 0; n < shared.kinds[kind].calls; ++n) {
    auto placed = placed_in(log, shared, kind, n, order, rows);
    const auto turn =
        placed || rule.width > 1 ? std::nullopt : turn_of(log, shared, kind, n, order);
    if (turn) {
      std::vector<InRow> turned;
      for (const InRow& one : order)
        turned.push_back({one.member, static_cast<int64_t>((one.member + *turn) % count)});
      std::ranges::sort(turned, {}, &InRow::row);
      placed = placed_in(log, shared, kind, n, turned, rows);
      if (placed) rule.turns[{kind, n}] = *turn;
    }
    if (!placed) return false;
    calls.push_back(std::move(*placed));
  }
  return true;
}

// Whether all runs of a kind are as far from row to row: as far as `step`, if it is not 0.
bool evenly(const Rule& rule, uint32_t kind, int64_t step) {
  const int64_t wanted = step != 0 ? step : rule.columns[0][kind][0][0].step;
  for (const auto& column : rule.columns) {
    for (const auto& call : column[kind]) {
      for (const Placed& placed : call) {
        if (placed.step != wanted) return false;
      }
    }
  }
  return true;
}

// The rule with rows of `width` members. Two rows are always evenly spaced; in a grid with two rows
// all places must be as far from row to row as those of the kind with the most bytes.
Rule rule_of_width(const AccessLog& log, const Shared& shared, uint32_t width) {
  Rule rule{width, std::vector(width, std::vector<Rule::Calls>(shared.kinds.size())), 0, {}};
  std::vector<uint32_t> ruled;
  for (uint32_t kind = 0; kind < shared.kinds.size(); ++kind) {
    bool all = shared.kinds[kind].calls > 0;
    for (std::size_t c = 0; c < width && all; ++c) all = find_calls(log, shared, kind, c, rule);
    if (all) ruled.push_back(kind);
    for (std::size_t c = 0; c < width && !all; ++c) rule.columns[c][kind].clear();
  }
  if (width > 1 && shared.members.size() / width == 2 && !ruled.empty()) {
    const uint32_t largest =
        *std::max_element(ruled.begin(), ruled.end(), [&](uint32_t one, uint32_t other) {
          return shared.kinds[one].all_bytes() < shared.kinds[other].all_bytes();
        });
    const int64_t step = rule.columns[0][largest][0][0].step;
    std::erase_if(ruled, [&](uint32_t kind) {
      const bool even = evenly(rule, kind, step) ||
                        (step != 0 && kind != largest && rule.columns[0][kind][0][0].step == 0 &&
                         evenly(rule, kind, 0));
      for (std::size_t c = 0; c < width && !even; ++c) rule.columns[c][kind].clear();
      return !even;
    });
  }
  for (const uint32_t kind : ruled) rule.bytes += shared.kinds[kind].all_bytes();
  return rule;
}

}  // namespace

std::optional<Rule> find_rule(const AccessLog& log, const Shared& shared) {
  double wanted = 0;
  for (const Kind& kind : shared.kinds) wanted += kind.all_bytes();
  const auto count = static_cast<uint32_t>(shared.members.size());
  std::optional<Rule> best;
  for (uint32_t width = 1; width <= count / 2; ++width) {
    if (count % width != 0) continue;
    Rule rule = rule_of_width(log, shared, width);
    if (rule.bytes > (best ? best->bytes : 0)) best = std::move(rule);
    if (best && best->bytes == wanted) break;
  }
  if (best && 2 * best->bytes < wanted) return std::nullopt;
  return best;
}

}  // namespace forebay::sim
