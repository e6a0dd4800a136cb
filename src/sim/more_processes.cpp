#include "sim/more_processes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "extent/extent.h"
#include "sim/process_rule.h"
#include "sim/stretch.h"
#include "sim/unequal_parts.h"

namespace forebay::sim {
namespace {

constexpr std::string_view some_only =
    "only some processes use it, and which of further ones would is not known";
// A rule of equal parts that gives less of the bytes than this share of what unequal parts give
// misses what the processes do.
constexpr double clearly_most = 0.9;

constexpr std::string_view no_rule = "the places of its processes follow no rule";
constexpr std::string_view other_groups = "several groups of its processes opened it";
constexpr std::string_view partial_row =
    "its processes form rows, and the last would be incomplete";

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

// The most frequent value, and how often it is met; the smallest of several.
std::pair<uint64_t, std::size_t> most_frequent(std::span<const uint64_t> values) {
  std::map<uint64_t, std::size_t> counts;
  for (const uint64_t value : values) ++counts[value];
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return *most;
}

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
      if (at == runs.size()) return false;  // some have become one
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
      : log_(log), processes_(processes), writer_(log, most), ruled_(log.accesses().size()) {
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
    for (auto& [file, members] : files_) {
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
  std::string_view share(std::vector<Member>& members) {
    const auto count = static_cast<uint32_t>(members.size());
    const uint32_t first = members[0].process, between = members[1].process - first;
    for (uint32_t m = 0; m < count; ++m) {
      if (members[m].process != first + m * between) return some_only;
    }
    if (first + count * between < log_.processes()) return some_only;
    const std::vector<Kind> kinds = find_kinds(log_, members);
    const Shared shared{members, kinds};
    const std::optional<Rule> rule = find_rule(log_, shared);
    const PartSequences sequences = find_part_sequences(log_, members);
    const uint32_t all = 1 + (processes_ - 1 - first) / between;
    if (rule && bytes_of(*rule, shared) >= clearly_most * sequences.bytes)
      return share_by(*rule, shared, all);
    if (sequences.all.empty() || sequences.bytes < sequences.others_bytes) return no_rule;
    return share_unequal(sequences.all, members, all);
  }

  double bytes_of(const Rule& rule, const Shared& shared) const {
    double bytes = 0;
    for (std::size_t m = 0; m < shared.members.size(); ++m) {
      for (const Call& call : shared.members[m].calls) {
        if (rule.has(call.kind) && shared.follows(m, call.kind))
          bytes += static_cast<double>(log_.accesses()[call.access].bytes);
      }
    }
    return bytes;
  }

  // The same of processes that make the same calls, at places that grow evenly.
  std::string_view share_by(const Rule& rule, const Shared& shared, uint32_t all) {
    const auto count = static_cast<uint32_t>(shared.members.size());
    if (all % rule.width != 0) return partial_row;
    Stretch stretch;
    const std::string_view why = stretch.make(rule, count / rule.width, all / rule.width);
    if (!why.empty()) return why;
    for (std::size_t m = 0; m < count; ++m) {
      for (const Call& call : shared.members[m].calls)
        ruled_[call.access] = rule.has(call.kind) && shared.follows(m, call.kind);
    }
    turned_.clear();
    for (const auto& [of, turn] : rule.turns) {
      for (std::size_t m = count - turn; m < count; ++m) {
        if (!shared.follows(m, of.first)) continue;
        const Call& call = shared.members[m].of_kind(of.first)[of.second];
        turned_[call.access] = places_of(rule, stretch, call, count, (m + turn) % all);
      }
    }
    const std::string_view unfit = write_known(shared.members, stretch, all);
    if (!unfit.empty()) return unfit;
    for (uint32_t m = count; m < all; ++m) {
      std::vector<Call> calls = calls_of_further(shared, rule, m);
      // Their order; all are of neighbours in a column.
      std::sort(calls.begin(), calls.end(),
                [](const Call& one, const Call& other) { return one.access < other.access; });
      for (const Call& call : calls) {
        DataAccess access = log_.accesses()[call.access];
        const std::vector<Extent> runs =
            places_of(rule, stretch, call, count, (m + rule.turn_of(call)) % all);
        further(access, process_of(shared.members, m));
        if (!writer_.add(access, runs)) return "";
      }
    }
    return "";
  }

  // The runs of a call, in the part that belongs to member `m` of so many that there are and
  // further ones.
  std::vector<Extent> places_of(const Rule& rule, const Stretch& stretch, const Call& call,
                                uint32_t count, std::size_t m) const {
    const bool several = log_.accesses()[call.access].view != no_view;
    const auto rows = static_cast<int64_t>(m / rule.width) - (count / rule.width - 1);
    std::vector<Extent> runs;
    for (const Placed& placed : rule.columns[m % rule.width][call.kind][call.nth])
      add_run(runs, stretch.place(placed, rows), several);
    return runs;
  }

  // An access of a part, and where it lies behind the begin of its member's parts.
  struct Piece {
    uint32_t access;
    std::size_t sequence;
    int64_t behind;
  };
  // By member, in order.
  static std::vector<std::vector<Piece>> pieces_of(std::span<const PartSequence> sequences,
                                                   uint32_t members) {
    std::vector<std::vector<Piece>> pieces(members);
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      std::vector<int64_t> behind(members);
      for (const Part& part : sequences[s].parts) {
        for (const uint32_t number : part.accesses)
          pieces[part.member].push_back({number, s, behind[part.member]});
        behind[part.member] += part.at.length;
      }
    }
    for (std::vector<Piece>& of_member : pieces) {
      std::sort(of_member.begin(), of_member.end(),
                [](const Piece& one, const Piece& other) { return one.access < other.access; });
    }
    return pieces;
  }

  // The same of processes whose parts are of unequal sizes: the further ones have parts as large as
  // those of the log's, in turn.
  std::string_view share_unequal(std::span<const PartSequence> sequences,
                                 std::span<const Member> members, uint32_t all) {
    const auto count = static_cast<uint32_t>(members.size());
    std::vector<int64_t> growths;
    for (const PartSequence& sequence : sequences) {
      if (sequence.bytes() > most_stretched / (all / count)) return too_large;
      growths.push_back(std::accumulate(sequence.member_bytes.begin(),
                                        sequence.member_bytes.begin() + all % count,
                                        (all / count - 1) * sequence.bytes()));
      for (const Part& part : sequence.parts) {
        for (const uint32_t number : part.accesses) ruled_[number] = true;
      }
    }
    turned_.clear();
    Stretch stretch;
    const std::string_view why = stretch.make(sequences, growths);
    if (!why.empty()) return why;
    const std::string_view unfit = write_known(members, stretch, all);
    if (!unfit.empty()) return unfit;
    ++result_.unequal;
    const std::vector<std::vector<Piece>> pieces = pieces_of(sequences, count);
    std::vector<int64_t> ends;  // of the sequences so far
    for (const PartSequence& sequence : sequences) ends.push_back(stretch.further(sequence));
    for (uint32_t m = count; m < all; ++m) {
      for (const Piece& piece : pieces[m % count]) {
        DataAccess access = log_.accesses()[piece.access];
        const Extent run{ends[piece.sequence] + piece.behind, access.bytes};
        further(access, process_of(members, m));
        if (!writer_.add(access, {&run, 1})) return "";
      }
      for (std::size_t s = 0; s < sequences.size(); ++s)
        ends[s] += sequences[s].member_bytes[m % count];
    }
    return "";
  }

  // Writes the accesses of the log's processes at their new places, in a file that will have `all`
  // processes. Returns why not; then nothing was written.
  std::string_view write_known(std::span<const Member> members, const Stretch& stretch,
                               uint32_t all) {
    const auto count = static_cast<uint32_t>(members.size());
    for (const Member& member : members) {
      for (const uint32_t number : member.accesses) {
        const DataAccess& access = log_.accesses()[number];
        if (access.end > most_stretched - stretch.growth()) return too_large;
        if (access.group == independent || !ruled_[number]) continue;
        const uint32_t ranks = log_.ranks_of_group(access.group);
        if (ranks != 1 && ranks != count) return other_groups;
      }
    }
    for (const Member& member : members) {
      for (const uint32_t number : member.accesses) {
        const DataAccess& access = log_.accesses()[number];
        std::vector<Extent> runs;
        if (const auto turned = turned_.find(number); turned != turned_.end()) {
          runs = turned->second;
        } else {
          for_runs(log_, access, [&](Extent run) {
            add_run(runs, stretch.place(run), access.view != no_view);
            return true;
          });
        }
        if (!ruled_[number]) {
          ++result_.kept_accesses;
          result_.kept_bytes += static_cast<uint64_t>(access.bytes);
        } else if (access.group != independent && log_.ranks_of_group(access.group) == count) {
          writer_.set_ranks(access.group, all);
        }
        if (!writer_.add(access, runs)) return "";
      }
    }
    return "";
  }

  // The process of the file's member `m`; members are evenly spaced.
  static uint32_t process_of(std::span<const Member> members, uint32_t m) {
    return members[0].process + m * (members[1].process - members[0].process);
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
  std::vector<bool> ruled_;  // by access: further processes make it, too
  // By access of the file that is written: where it lies, if its process has another part now.
  std::unordered_map<uint32_t, std::vector<Extent>> turned_;
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
