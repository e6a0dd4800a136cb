#include "sim/more_processes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "extent/extent.h"
#include "trace/views.h"

namespace forebay::sim {
namespace {

constexpr int64_t most_offset = std::numeric_limits<int64_t>::max() / 4;
constexpr std::size_t most_runs = std::size_t{1} << 25;  // of one access

constexpr std::string_view some_only =
    "only some processes use it, and which of further ones would is not known";
constexpr std::string_view other_calls = "most of its processes make different calls";
constexpr std::string_view no_rule = "the places of its processes follow no rule";
constexpr std::string_view tangled =
    "the parts of its processes lie between those of other accesses";
constexpr std::string_view other_groups = "several groups of its processes opened it";
constexpr std::string_view partial_row =
    "its processes form rows, and the last would be incomplete";
constexpr std::string_view too_large = "it would be too large";

// Calls each(run) for the runs of an access; stops if it returns false, and then returns false.
template <typename Each>
bool for_runs(const AccessLog& log, const DataAccess& access, const Each& each) {
  if (access.view == no_view) return each(Extent{access.offset, access.end - access.offset});
  trace::Runs runs(log.view(access.view), access.position, access.bytes);
  Extent run;
  while (runs.next(run)) {
    if (!each(run)) return false;
  }
  return true;
}

// An access of a process to a file: the n-th of its kind (from 0). Calls of one kind do the same,
// at places that may differ.
struct Call {
  uint32_t access = 0;
  uint32_t kind = 0;
  uint32_t nth = 0;
};

// A process that uses a file, and its accesses there, in order.
struct Member {
  uint32_t process = 0;
  std::vector<uint32_t> accesses;
  std::vector<Call> calls;  // by kind and order; of shared files

  std::span<const Call> of_kind(uint32_t kind) const {
    const auto [first, last] =
        std::equal_range(calls.begin(), calls.end(), Call{0, kind, 0},
                         [](const Call& one, const Call& other) { return one.kind < other.kind; });
    return {first, last};
  }
};

// What processes do with a file: so many calls of a kind make most of them.
struct Kind {
  uint32_t calls = 0;  // 0: most processes make none
  int64_t bytes = 0;   // of a call
};

class Hash {
 public:
  void add(uint64_t word) { value_ = (value_ ^ word) * 0x9e3779b97f4a7c15u + (value_ >> 29); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

uint64_t hash_of_places(const AccessLog& log, const Member& member) {
  Hash hash;
  for (const uint32_t number : member.accesses) {
    const DataAccess& access = log.accesses()[number];
    hash.add(access.writes);
    hash.add(static_cast<uint64_t>(access.bytes));
    hash.add(static_cast<uint64_t>(access.offset));
    hash.add(static_cast<uint64_t>(access.end));
  }
  return hash.value();
}

// Gives the members their calls. Returns the kinds.
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

// The most frequent value, and how often it is met; the smallest of several.
std::pair<uint64_t, std::size_t> most_frequent(std::span<const uint64_t> values) {
  std::map<uint64_t, std::size_t> counts;
  for (const uint64_t value : values) ++counts[value];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return *most;
}

// A run of the first process of a column that makes it. From row to row it lies `step` bytes
// further; some rows may leave a gap (HDF5 puts metadata there). `last`: its place in the last row.
struct Placed {
  Extent run;
  int64_t step = 0;
  int64_t last = 0;
};

// How a file's processes share it, in rows of `width`: by column, kind and number of the call, the
// runs of the process. A kind that follows no rule has no calls there.
struct Rule {
  using Calls = std::vector<std::vector<Placed>>;

  uint32_t width = 1;
  std::vector<std::vector<Calls>> columns;
  int64_t bytes = 0;  // of one process's calls that follow the rule

  bool has(uint32_t kind) const { return !columns[0][kind].empty(); }
};

// A part of the file that consists of parts of equal size, one for each row, and perhaps gaps.
struct Region {
  int64_t begin = 0, end = 0;
  int64_t step = 0;
  int64_t shift = 0;   // by how much it moves, since the regions before it grow
  int64_t growth = 0;  // by how much it grows
};

// The processes of a file, and what most of them do.
struct Shared {
  std::span<const Member> members;
  std::span<const Kind> kinds;

  // Whether a member makes as many calls of the kind as most.
  bool follows(std::size_t member, uint32_t kind) const {
    const uint32_t calls = kinds[kind].calls;
    return calls > 0 && members[member].of_kind(kind).size() == calls;
  }
};

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

// The calls of a kind in a column of `width`; nothing: they follow no rule.
std::optional<Rule::Calls> calls_of_column(const AccessLog& log, const Shared& shared,
                                           uint32_t kind, std::size_t column, uint32_t width) {
  std::vector<std::size_t> with;
  for (std::size_t m = column; m < shared.members.size(); m += width) {
    if (shared.follows(m, kind)) with.push_back(m);
  }
  if (with.size() < 2) return std::nullopt;
  const auto row = [&](std::size_t member) { return static_cast<int64_t>(member / width); };
  Rule::Calls calls;
  for (uint32_t n = 0; n < shared.kinds[kind].calls; ++n) {
    const auto runs = [&](std::size_t member) {
      return runs_of(log, shared.members[member].of_kind(kind)[n]);
    };
    Steps steps;
    for (const std::size_t member : with) {
      if (!steps.vote(runs(member), row(member))) return std::nullopt;
    }
    steps.again();
    for (const std::size_t member : with) {
      if (!steps.check(runs(member), row(member))) return std::nullopt;
    }
    auto placed = steps.placed(static_cast<int64_t>(shared.members.size() / width));
    if (!placed) return std::nullopt;
    calls.push_back(std::move(*placed));
  }
  return calls;
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
  Rule rule{width, std::vector(width, std::vector<Rule::Calls>(shared.kinds.size())), 0};
  std::vector<uint32_t> ruled;
  for (uint32_t kind = 0; kind < shared.kinds.size(); ++kind) {
    bool all = shared.kinds[kind].calls > 0;
    for (std::size_t c = 0; c < width && all; ++c) {
      auto calls = calls_of_column(log, shared, kind, c, width);
      all = calls.has_value();
      if (all) rule.columns[c][kind] = std::move(*calls);
    }
    if (all) ruled.push_back(kind);
    for (std::size_t c = 0; c < width && !all; ++c) rule.columns[c][kind].clear();
  }
  const auto bytes = [&](uint32_t kind) {
    return shared.kinds[kind].calls * shared.kinds[kind].bytes;
  };
  if (width > 1 && shared.members.size() / width == 2 && !ruled.empty()) {
    const uint32_t largest =
        *std::max_element(ruled.begin(), ruled.end(),
                          [&](auto one, auto other) { return bytes(one) < bytes(other); });
    const int64_t step = rule.columns[0][largest][0][0].step;
    std::erase_if(ruled, [&](uint32_t kind) {
      const bool even = evenly(rule, kind, step) ||
                        (step != 0 && kind != largest && rule.columns[0][kind][0][0].step == 0 &&
                         evenly(rule, kind, 0));
      for (std::size_t c = 0; c < width && !even; ++c) rule.columns[c][kind].clear();
      return !even;
    });
  }
  for (const uint32_t kind : ruled) rule.bytes += bytes(kind);
  return rule;
}

// The rule that gives most of the bytes; of several that with the shortest rows.
std::optional<Rule> find_rule(const AccessLog& log, const Shared& shared) {
  int64_t wanted = 0;
  for (const Kind& kind : shared.kinds) wanted += kind.calls * kind.bytes;
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

// Where the bytes of a file lie once there are more rows.
class Stretch {
 public:
  // Why the rule does not allow more rows; empty: it does.
  std::string_view make(const Rule& rule, int64_t rows, int64_t more_rows) {
    std::vector<Placed> all;
    for (const auto& column : rule.columns) {
      for (const Rule::Calls& calls : column) {
        for (const auto& call : calls)
          std::copy_if(call.begin(), call.end(), std::back_inserter(all),
                       [](const Placed& placed) { return placed.step > 0; });
      }
    }
    std::sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
      return std::pair(a.step, a.run.offset) < std::pair(b.step, b.run.offset);
    });
    // A run begins a region, unless it lies in the part of row 0 or, as the seam of tiles that
    // overlap, in those of the next rows.
    for (const Placed& placed : all) {
      if (placed.last > most_offset) return too_large;
      const Region* const before = regions_.empty() ? nullptr : &regions_.back();
      if (before == nullptr || before->step != placed.step ||
          (placed.run.offset - before->begin >= placed.step && placed.run.offset >= before->end))
        regions_.push_back({placed.run.offset, 0, placed.step, 0, 0});
      Region& region = regions_.back();
      region.end = std::max(region.end, placed.last + placed.run.length);
    }
    std::sort(regions_.begin(), regions_.end(),
              [](const Region& a, const Region& b) { return a.begin < b.begin; });
    int64_t shift = 0;
    for (Region& region : regions_) {
      if (__builtin_mul_overflow(region.step, more_rows - rows, &region.growth) ||
          region.growth > most_offset || shift > most_offset)
        return too_large;
      region.shift = shift;
      shift += region.growth;
    }
    for (std::size_t i = 1; i < regions_.size(); ++i) {
      if (regions_[i].begin < regions_[i - 1].end) return tangled;
    }
    return "";
  }

  // The place of a run that all further processes have, too, or that is no part of the rule. It
  // grows with the regions that it holds.
  Extent place(Extent run) const {
    const int64_t begin = run.offset + moved(run.offset);
    int64_t end = run.end() + moved(run.end() - 1);
    if (const Region* last = region_before(run.end() - 1)) {
      if (run.end() == last->end && run.offset <= last->begin) end += last->growth;
    }
    return {begin, end - begin};
  }
  // The place of a run of the rule, `rows` rows after the last one.
  Extent place(const Placed& placed, int64_t rows) const {
    if (placed.step == 0) return place(placed.run);
    const Region* const region = region_before(placed.run.offset);
    return {placed.last + region->shift + rows * placed.step, placed.run.length};
  }
  // The largest distance by which a byte moves, of all.
  int64_t growth() const {
    return regions_.empty() ? 0 : regions_.back().shift + regions_.back().growth;
  }

 private:
  // The last region that begins at or before the offset.
  const Region* region_before(int64_t offset) const {
    const auto after =
        std::upper_bound(regions_.begin(), regions_.end(), offset,
                         [](int64_t at, const Region& region) { return at < region.begin; });
    return after == regions_.begin() ? nullptr : &*(after - 1);
  }
  int64_t moved(int64_t offset) const {
    const Region* const region = region_before(offset);
    if (region == nullptr) return 0;
    return region->shift + (offset < region->end ? 0 : region->growth);
  }

  std::vector<Region> regions_;
};

// Makes the accesses of the new log: places, views, handles and groups.
class Writer {
 public:
  Writer(const AccessLog& from, uint64_t most) : from_(from), log_(most) {
    log_.set_views({from.views().begin(), from.views().end()});
    group_ranks_.assign(from.group_ranks().begin(), from.group_ranks().end());
    handles_ = from.handles();
  }

  // The access at other places, which are in the order of its runs.
  bool add(DataAccess access, std::span<const Extent> runs) {
    full_ = full_ || !log_.add(placed(access, runs));
    return !full_;
  }
  bool add(const DataAccess& access) {
    full_ = full_ || !log_.add(access);
    return !full_;
  }
  bool full() const { return full_; }

  // The number of the handle that a further process has in place of the one of the log's.
  uint32_t handle_of(uint32_t handle, uint32_t process) {
    return others_handles_.try_emplace({handle, process}, handles_ + others_handles_.size())
        .first->second;
  }
  // The same of groups of one process.
  uint32_t alone_group_of(uint32_t group, uint32_t process) {
    const auto [at, made] = alone_.try_emplace({group, process}, group_ranks_.size());
    if (made) group_ranks_.push_back(1);
    return at->second;
  }
  void set_ranks(uint32_t group, uint32_t ranks) { group_ranks_[group] = ranks; }

  AccessLog finish() {
    log_.set_group_ranks(std::move(group_ranks_));
    log_.sort();
    return std::move(log_);
  }

 private:
  DataAccess placed(DataAccess access, std::span<const Extent> runs) {
    const int64_t moved = runs.front().offset - access.offset;
    if (access.view == no_view || runs.size() == 1) {
      access.offset = runs.front().offset;
      access.end = runs.front().end();
      access.bytes = runs.front().length;
      access.view = no_view;
      return access;
    }
    if (moves_whole(access, runs, moved)) {
      const auto [at, made] = moved_views_.try_emplace({access.view, moved}, no_view);
      if (made) {
        Tiling view = from_.view(access.view);
        view.origin += moved;
        at->second = log_.add_view(std::move(view));
      }
      access.view = at->second;
    } else {
      access.view = view_of(runs);
      access.position = 0;
    }
    access.offset = runs.front().offset;
    access.end = runs.back().end();
    access.bytes = std::accumulate(runs.begin(), runs.end(), int64_t{0},
                                   [](int64_t sum, Extent run) { return sum + run.length; });
    return access;
  }

  bool moves_whole(const DataAccess& access, std::span<const Extent> runs, int64_t moved) const {
    std::size_t at = 0;
    return for_runs(from_, access, [&](Extent run) {
      const Extent other = runs[at++];
      return other.offset - run.offset == moved && other.length == run.length;
    });
  }

  // A view of just these runs.
  int32_t view_of(std::span<const Extent> runs) {
    std::vector<int64_t> shape;  // places from the first on, and lengths
    for (const Extent run : runs) {
      shape.push_back(run.offset - runs.front().offset);
      shape.push_back(run.length);
    }
    LayoutRef& layout = layouts_[shape];
    if (layout == nullptr) {
      std::vector<int64_t> places, lengths;
      for (std::size_t i = 0; i < shape.size(); i += 2) {
        places.push_back(shape[i]);
        lengths.push_back(shape[i + 1]);
      }
      layout = Layout::indexed(std::move(places), std::move(lengths), 1, Layout::block(1));
    }
    return log_.add_view({layout, runs.front().offset, runs.back().end() - runs.front().offset});
  }

  const AccessLog& from_;
  AccessLog log_;
  std::vector<uint32_t> group_ranks_;
  uint32_t handles_ = 0;
  bool full_ = false;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> others_handles_, alone_;
  std::map<std::pair<int32_t, int64_t>, int32_t> moved_views_;
  std::map<std::vector<int64_t>, LayoutRef> layouts_;
};

class Extension {
 public:
  Extension(const AccessLog& log, uint32_t processes, uint64_t most)
      : log_(log), processes_(processes), writer_(log, most) {
    std::map<std::pair<uint32_t, uint32_t>, std::size_t> known;
    const std::span<const DataAccess> accesses = log.accesses();
    for (uint32_t i = 0; i < accesses.size(); ++i) {
      std::vector<Member>& members = files_[accesses[i].file];
      const auto [at, made] =
          known.try_emplace({accesses[i].file, accesses[i].process}, members.size());
      if (made) members.push_back({accesses[i].process, {}, {}});
      members[at->second].accesses.push_back(i);
    }
    for (auto& [file, members] : files_) {
      std::sort(members.begin(), members.end(),
                [](const Member& a, const Member& b) { return a.process < b.process; });
      if (members.size() > 1) continue;
      own_files_[members[0].process].push_back(file);
    }
    result_.first_own = files_.empty() ? 0 : files_.rbegin()->first + 1;
  }

  std::optional<MoreProcesses> make() {
    for (const auto& [file, members] : files_) {
      if (members.size() == 1) {
        for (const uint32_t number : members[0].accesses) writer_.add(log_.accesses()[number]);
        continue;
      }
      const std::string_view why = share(members);
      if (why.empty()) {
        ++result_.shared;
      } else {
        result_.left.push_back({file, why});
        for (const Member& member : members) {
          for (const uint32_t number : member.accesses) writer_.add(log_.accesses()[number]);
        }
      }
      if (writer_.full()) return std::nullopt;
    }
    copy_own_files();
    if (writer_.full()) return std::nullopt;
    result_.log = writer_.finish();
    return std::move(result_);
  }

 private:
  // Adds a shared file's accesses, those of further processes, too. Returns why not; then nothing
  // was added.
  std::string_view share(const std::vector<Member>& known) {
    std::vector<Member> members = known;
    const auto count = static_cast<uint32_t>(members.size());
    const uint32_t first = members[0].process, between = members[1].process - first;
    for (uint32_t m = 0; m < count; ++m) {
      if (members[m].process != first + m * between) return some_only;
    }
    if (first + count * between < log_.processes()) return some_only;
    const std::vector<Kind> kinds = find_kinds(log_, members);
    if (std::all_of(kinds.begin(), kinds.end(), [](const Kind& kind) { return kind.calls == 0; }))
      return other_calls;
    const Shared shared{members, kinds};
    const std::optional<Rule> rule = find_rule(log_, shared);
    if (!rule) return no_rule;
    for (const Member& member : members) {
      for (const Call& call : member.calls) {
        const uint32_t group = log_.accesses()[call.access].group;
        if (!rule->has(call.kind) || group == independent) continue;
        const uint32_t ranks = log_.ranks_of_group(group);
        if (ranks != 1 && ranks != count) return other_groups;
      }
    }
    const uint32_t all = 1 + (processes_ - 1 - first) / between;
    if (all % rule->width != 0) return partial_row;
    Stretch stretch;
    const std::string_view why = stretch.make(*rule, count / rule->width, all / rule->width);
    if (!why.empty()) return why;
    for (const Member& member : members) {
      for (const uint32_t number : member.accesses) {
        if (log_.accesses()[number].end > most_offset - stretch.growth()) return too_large;
      }
    }
    write_shared(shared, *rule, stretch, all);
    return "";
  }

  void write_shared(const Shared& shared, const Rule& rule, const Stretch& stretch, uint32_t all) {
    const auto count = static_cast<uint32_t>(shared.members.size());
    const uint32_t first = shared.members[0].process;
    const uint32_t between = shared.members[1].process - first;
    for (uint32_t m = 0; m < all; ++m) {
      std::vector<Call> calls =
          m < count ? shared.members[m].calls : calls_of_further(shared, rule, m);
      // Their order; all are of one process, or of neighbours in a column.
      std::sort(calls.begin(), calls.end(),
                [](const Call& one, const Call& other) { return one.access < other.access; });
      for (const Call& call : calls) {
        DataAccess access = log_.accesses()[call.access];
        const bool ruled = rule.has(call.kind) && (m >= count || shared.follows(m, call.kind));
        std::size_t at = 0;
        std::vector<Extent> runs;
        for_runs(log_, access, [&](Extent run) {
          const Extent placed =
              m < count ? stretch.place(run)
                        : stretch.place(rule.columns[m % rule.width][call.kind][call.nth][at++],
                                        m / rule.width - (count / rule.width - 1));
          add_run(runs, placed, access.view != no_view);
          return true;
        });
        if (!ruled) {
          ++result_.kept_accesses;
          result_.kept_bytes += access.bytes;
        } else if (access.group != independent && log_.ranks_of_group(access.group) == count) {
          writer_.set_ranks(access.group, all);
        }
        if (m >= count) further(access, first + m * between);
        if (!writer_.add(access, runs)) return;
      }
    }
  }

  // What a further member does: of each kind, what the nearest one of its column does that makes as
  // many calls as most.
  static std::vector<Call> calls_of_further(const Shared& shared, const Rule& rule, uint32_t m) {
    const auto count = static_cast<uint32_t>(shared.members.size());
    std::vector<Call> calls;
    for (uint32_t kind = 0; kind < shared.kinds.size(); ++kind) {
      if (!rule.has(kind)) continue;
      uint32_t like = m;
      while (like >= count || !shared.follows(like, kind)) like -= rule.width;
      const std::span<const Call> of_kind = shared.members[like].of_kind(kind);
      calls.insert(calls.end(), of_kind.begin(), of_kind.end());
    }
    return calls;
  }

  static void add_run(std::vector<Extent>& runs, Extent run, bool several) {
    if (several && !runs.empty() && runs.back().end() == run.offset)
      runs.back().length += run.length;
    else
      runs.push_back(run);
  }

  // Makes the access one of a further process.
  void further(DataAccess& access, uint32_t process) {
    access.process = process;
    access.handle = writer_.handle_of(access.handle, process);
    if (access.group != independent && log_.ranks_of_group(access.group) == 1)
      access.group = writer_.alone_group_of(access.group, process);
  }

  // Files of one process each: a further process has such as most have; if most differ, those of
  // the log's processes in turn.
  void copy_own_files() {
    const uint32_t count = log_.processes();
    std::vector<uint64_t> kinds(count);
    for (uint32_t p = 0; p < count; ++p) {
      Hash hash;
      for (const uint32_t file : own_files_[p]) hash.add(hash_of_places(log_, files_[file][0]));
      kinds[p] = hash.value();
    }
    const auto [kind, met] = most_frequent(kinds);
    const bool alike = 2 * met > count || count == 1;
    const auto typical =
        static_cast<uint32_t>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
    for (uint32_t p = count; p < processes_; ++p) {
      for (const uint32_t file : own_files_[alike ? typical : p % count]) {
        const uint32_t number = result_.first_own + static_cast<uint32_t>(result_.own.size());
        result_.own.push_back({file, p});
        for (const uint32_t access_number : files_[file][0].accesses) {
          DataAccess access = log_.accesses()[access_number];
          access.file = number;
          further(access, p);
          if (!writer_.add(access)) return;
        }
      }
    }
  }

  const AccessLog& log_;
  const uint32_t processes_;
  Writer writer_;
  std::map<uint32_t, std::vector<Member>> files_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> own_files_;  // by process
  MoreProcesses result_;
};

}  // namespace

std::optional<MoreProcesses> more_processes(const AccessLog& log, uint32_t processes,
                                            uint64_t most_accesses) {
  return Extension(log, processes, most_accesses).make();
}

}  // namespace forebay::sim
