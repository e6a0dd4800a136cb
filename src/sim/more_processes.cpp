#include "sim/more_processes.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "extent/extent.h"
#include "trace/views.h"

namespace forebay::sim {
namespace {

constexpr int64_t most_offset = std::numeric_limits<int64_t>::max() / 4;
constexpr std::size_t most_runs = std::size_t{1} << 25;  // of one process in one file

constexpr std::string_view some_only =
    "only some processes use it, and which of further ones would is not known";
constexpr std::string_view other_calls = "no two of its processes make the same calls";
constexpr std::string_view no_rule = "the places of its processes follow no rule";
constexpr std::string_view tangled =
    "the parts of its processes lie between those of other accesses";
constexpr std::string_view other_groups = "several groups of its processes opened it";
constexpr std::string_view partial_row =
    "its processes form rows, and the last would be incomplete";
constexpr std::string_view too_large = "it would be too large";
constexpr std::string_view too_many_runs = "its views have too many pieces";

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

// A process that uses a file, and its accesses there, in order.
struct Member {
  uint32_t process = 0;
  std::vector<uint32_t> accesses;
  uint64_t calls = 0;  // a hash of what it does, but for the places; of private files with them
};

class Hash {
 public:
  void add(uint64_t word) { value_ = (value_ ^ word) * 0x9e3779b97f4a7c15u + (value_ >> 29); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

uint64_t hash_of_calls(const AccessLog& log, const Member& member, bool with_places) {
  Hash hash;
  for (const uint32_t number : member.accesses) {
    const DataAccess& access = log.accesses()[number];
    hash.add(access.writes);
    hash.add(access.group != independent);
    hash.add(static_cast<uint64_t>(access.bytes));
    // A view's runs are compared when the places are.
    if (with_places) hash.add(static_cast<uint64_t>(access.offset));
    if (with_places) hash.add(static_cast<uint64_t>(access.end));
  }
  return hash.value();
}

// The most frequent value, and how often it is met; the smallest of several.
std::pair<uint64_t, std::size_t> most_frequent(std::span<const uint64_t> values) {
  std::map<uint64_t, std::size_t> counts;
  for (const uint64_t value : values) ++counts[value];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return *most;
}

// A run of the process in row 0 (of its column); those of the next rows lie `step` bytes on each.
struct Placed {
  Extent run;
  int64_t step = 0;
};

// How a file's processes share it: in rows of `width`; column by column the runs of one process.
struct Rule {
  uint32_t width = 1;
  std::vector<std::vector<Placed>> columns;
};

// A part of the file that consists of parts of equal size, one for each row.
struct Region {
  int64_t begin = 0, end = 0;
  int64_t step = 0;
  int64_t reach = 0;   // from a part's begin to the last byte of its row's accesses
  int64_t shift = 0;   // by how much it moves, since the regions before it grow
  int64_t growth = 0;  // by how much it grows

  bool holds(int64_t offset, int64_t rows) const {
    const int64_t from_begin = offset - begin;
    return from_begin < step || (from_begin - reach) / step < rows - 1;
  }
};

// The members of a file that make the same calls, with their numbers among all members.
struct Typical {
  std::span<const Member> members;
  uint64_t calls = 0;

  bool has(std::size_t number) const { return members[number].calls == calls; }
};

// Whether the runs of a member are those of `column`, `row` rows on.
bool fits(const AccessLog& log, const Member& member, std::span<const Placed> column, int64_t row) {
  std::size_t at = 0;
  for (const uint32_t number : member.accesses) {
    const bool all = for_runs(log, log.accesses()[number], [&](Extent run) {
      if (at == column.size()) return false;
      const Placed& placed = column[at++];
      int64_t moved = 0;
      return !__builtin_mul_overflow(placed.step, row, &moved) &&
             run.offset - placed.run.offset == moved && run.length == placed.run.length;
    });
    if (!all) return false;
  }
  return at == column.size();
}

std::optional<std::vector<Extent>> runs_of(const AccessLog& log, const Member& member) {
  std::vector<Extent> runs;
  for (const uint32_t number : member.accesses) {
    const bool all = for_runs(log, log.accesses()[number], [&](Extent run) {
      runs.push_back(run);
      return runs.size() <= most_runs;
    });
    if (!all) return std::nullopt;
  }
  return runs;
}

// The column of a member in row `row` and one in row `other`; nothing: their runs differ, or places
// become smaller from row to row.
std::optional<std::vector<Placed>> column_of(std::span<const Extent> runs, int64_t row,
                                             std::span<const Extent> others, int64_t other) {
  if (runs.size() != others.size()) return std::nullopt;
  std::vector<Placed> column;
  column.reserve(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int64_t distance = others[i].offset - runs[i].offset;
    if (runs[i].length != others[i].length || distance < 0 || distance % (other - row) != 0)
      return std::nullopt;
    const int64_t step = distance / (other - row);
    int64_t before = 0;
    if (__builtin_mul_overflow(step, row, &before) || before > runs[i].offset) return std::nullopt;
    column.push_back({{runs[i].offset - before, runs[i].length}, step});
  }
  return column;
}

// The rule with rows of `width` members, if they follow it. Two rows are always evenly spaced; of a
// grid with two rows all steps must be equal.
std::optional<Rule> rule_of_width(const AccessLog& log, const Typical& typical, uint32_t width) {
  const std::size_t count = typical.members.size();
  Rule rule{width, {}};
  for (std::size_t c = 0; c < width; ++c) {
    std::vector<std::size_t> with;
    for (std::size_t m = c; m < count; m += width) {
      if (typical.has(m)) with.push_back(m);
    }
    if (with.size() < 2) return std::nullopt;
    const auto row = [&](std::size_t member) { return static_cast<int64_t>(member / width); };
    const auto first = runs_of(log, typical.members[with[0]]);
    const auto second = runs_of(log, typical.members[with[1]]);
    if (!first || !second) return std::nullopt;
    auto column = column_of(*first, row(with[0]), *second, row(with[1]));
    if (!column) return std::nullopt;
    for (std::size_t i = 2; i < with.size(); ++i) {
      if (!fits(log, typical.members[with[i]], *column, row(with[i]))) return std::nullopt;
    }
    rule.columns.push_back(std::move(*column));
  }
  if (width > 1 && count / width == 2) {
    const int64_t step = rule.columns[0][0].step;
    for (const auto& column : rule.columns) {
      if (!std::all_of(column.begin(), column.end(), [&](auto& one) { return one.step == step; }))
        return std::nullopt;
    }
  }
  return rule;
}

std::optional<Rule> find_rule(const AccessLog& log, const Typical& typical) {
  const auto count = static_cast<uint32_t>(typical.members.size());
  for (uint32_t width = 1; width <= count / 2; ++width) {
    if (count % width != 0) continue;
    if (auto rule = rule_of_width(log, typical, width)) return rule;
  }
  return std::nullopt;
}

// Where the bytes of a file lie once there are more rows.
class Stretch {
 public:
  // Why the rule does not allow more rows; empty: it does.
  std::string_view make(const Rule& rule, int64_t rows, int64_t more_rows) {
    std::vector<Placed> all;
    for (const auto& column : rule.columns) {
      for (const Placed& placed : column) {
        if (placed.step > 0) all.push_back(placed);
      }
    }
    std::sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
      return std::pair(a.step, a.run.offset) < std::pair(b.step, b.run.offset);
    });
    // A run begins a region, unless it lies in the part of row 0 or, as the seam of tiles that
    // overlap, in those of the next rows.
    for (const Placed& placed : all) {
      if (regions_.empty() || regions_.back().step != placed.step ||
          !regions_.back().holds(placed.run.offset, rows))
        regions_.push_back({placed.run.offset, 0, placed.step, 0, 0, 0});
      Region& region = regions_.back();
      region.reach = std::max(region.reach, placed.run.end() - region.begin);
    }
    std::sort(regions_.begin(), regions_.end(),
              [](const Region& a, const Region& b) { return a.begin < b.begin; });
    int64_t shift = 0;
    for (Region& region : regions_) {
      int64_t parts = 0, grown = 0;
      if (__builtin_mul_overflow(region.step, rows - 1, &parts) ||
          __builtin_mul_overflow(region.step, more_rows - rows, &grown) || grown > most_offset ||
          region.begin > most_offset || parts > most_offset || shift > most_offset)
        return too_large;
      region.end = region.begin + parts + region.reach;
      region.shift = shift;
      region.growth = grown;
      shift += grown;
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
  // The place of a run of the rule, in `row`.
  Extent place(const Placed& placed, int64_t row) const {
    if (placed.step == 0) return place(placed.run);
    const Region* const region = region_before(placed.run.offset);
    return {placed.run.offset + region->shift + row * placed.step, placed.run.length};
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
      if (made) members.push_back({accesses[i].process, {}, 0});
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
    std::vector<uint64_t> calls;
    for (Member& member : members) {
      member.calls = hash_of_calls(log_, member, false);
      calls.push_back(member.calls);
      for (const uint32_t number : member.accesses) {
        const uint32_t group = log_.accesses()[number].group;
        if (group == independent) continue;
        const uint32_t ranks = log_.ranks_of_group(group);
        if (ranks != 1 && ranks != count) return other_groups;
      }
    }
    const auto [typical_calls, met] = most_frequent(calls);
    if (met < 2) return other_calls;
    const Typical typical{members, typical_calls};
    for (const Member& member : members) {
      if (member.calls == typical_calls && !runs_of(log_, member)) return too_many_runs;
    }
    const std::optional<Rule> rule = find_rule(log_, typical);
    if (!rule) return no_rule;
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
    write_shared(typical, *rule, stretch, all);
    return "";
  }

  void write_shared(const Typical& typical, const Rule& rule, const Stretch& stretch,
                    uint32_t all) {
    const auto count = static_cast<uint32_t>(typical.members.size());
    const uint32_t first = typical.members[0].process;
    const uint32_t between = typical.members[1].process - first;
    for (uint32_t m = 0; m < all; ++m) {
      const std::vector<Placed>& column = rule.columns[m % rule.width];
      const bool follows = m >= count || typical.has(m);
      // The nearest process of the same column that follows the rule does what a further one would.
      uint32_t like = m;
      while (like >= count || (m >= count && !typical.has(like))) like -= rule.width;
      const Member& member = typical.members[like];
      std::size_t at = 0;
      for (const uint32_t number : member.accesses) {
        DataAccess access = log_.accesses()[number];
        std::vector<Extent> runs;
        for_runs(log_, access, [&](Extent run) {
          add_run(runs, follows ? stretch.place(column[at++], m / rule.width) : stretch.place(run),
                  access.view != no_view);
          return true;
        });
        if (m >= count) further(access, first + m * between);
        const uint32_t group = log_.accesses()[number].group;
        if (group != independent && log_.ranks_of_group(group) == count)
          writer_.set_ranks(group, all);
        if (!writer_.add(access, runs)) return;
      }
    }
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
      for (const uint32_t file : own_files_[p])
        hash.add(hash_of_calls(log_, files_[file][0], true));
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
