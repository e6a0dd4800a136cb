// The rule by which a job's processes share a file: which of their calls they have in common, and
// how the places of these grow from process to process, or from row to row of a grid of processes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "extent/extent.h"
#include "sim/access_log.h"
#include "trace/views.h"

namespace forebay::sim {

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

  double all_bytes() const { return static_cast<double>(bytes) * calls; }
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

// Gives the members their calls. Returns the kinds.
std::vector<Kind> find_kinds(const AccessLog& log, std::vector<Member>& members);

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
  double bytes = 0;  // of one process's calls that follow the rule
  // In rows of one: by kind and number of the call, how many processes further on the process has
  // its part in the order of the parts; after the last comes the first (IOR's -C reads so what
  // others wrote). Calls with no entry: 0.
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> turns;

  bool has(uint32_t kind) const { return !columns[0][kind].empty(); }
  uint32_t turn_of(const Call& call) const {
    const auto known = turns.find({call.kind, call.nth});
    return known == turns.end() ? 0 : known->second;
  }
};

// The rule that gives most of the bytes; of several that with the shortest rows. Nothing: none
// gives half of the bytes of what most members do.
std::optional<Rule> find_rule(const AccessLog& log, const Shared& shared);

}  // namespace forebay::sim
