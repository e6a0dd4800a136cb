#include "sim/aggregation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace forebay::sim {

namespace {

// Bytes [begin, end) of a file.
struct Range {
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = 0;

  bool empty() const { return begin >= end; }
  void include(const Asked& asked) {
    if (asked.bytes > 0) include(Range{asked.begin, asked.end});
  }
  void include(Range other) {
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
};

// How many parts of size `part` hold `whole`.
int64_t parts_of(int64_t whole, int64_t part) { return whole / part + (whole % part != 0 ? 1 : 0); }

// The rounds of one aggregator in one collective call.
class Domain {
 public:
  Domain(int64_t begin, int64_t end) : begin_(begin), end_(end) {}

  // Extends the requested bytes of the domain by an access. Comes before any add_rounds().
  void add(const AccessLog& log, const DataAccess& access) {
    asked_.include(asked_within(log, access, begin_, end_));
  }

  // Records which bytes of which rounds the access requests. False: more than `most` rounds.
  bool add_rounds(const AccessLog& log, const DataAccess& access, int64_t buffer, uint64_t most) {
    Asked asked = asked_within(log, access, begin_, end_);
    while (asked.bytes > 0) {
      const int64_t round = (asked.begin - asked_.begin) / buffer;
      const int64_t round_begin = asked_.begin + round * buffer;
      const int64_t round_end =
          asked_.end - round_begin > buffer ? round_begin + buffer : asked_.end;
      const Asked part = asked_within(log, access, asked.begin, round_end);
      if (rounds_.size() >= most) return false;
      rounds_.push_back({round, {part.begin, part.end}});
      if (round_end >= asked.end) break;
      asked = asked_within(log, access, round_end, asked.end);
    }
    return true;
  }

  // Sorts the rounds and unites those with the same number.
  void finish() {
    std::ranges::sort(rounds_, {}, &Round::number);
    std::size_t kept = 0;
    for (const Round& round : rounds_) {
      if (kept > 0 && rounds_[kept - 1].number == round.number)
        rounds_[kept - 1].asked.include(round.asked);
      else
        rounds_[kept++] = round;
    }
    rounds_.resize(kept);
  }

  struct Round {
    int64_t number;
    Range asked;
  };
  const std::vector<Round>& rounds() const { return rounds_; }

 private:
  int64_t begin_, end_;
  Range asked_;
  std::vector<Round> rounds_;
};

class Aggregator {
 public:
  Aggregator(const AccessLog& log, const Aggregation& aggregation, uint64_t most)
      : log_(log), aggregation_(aggregation), most_(most) {}

  bool touch(std::span<const uint32_t> members, uint32_t ranks, TouchRecorder& recorder) {
    Range region;
    for (const uint32_t index : members) {
      const DataAccess& access = log_.accesses()[index];
      region.include(Range{access.offset, access.end});
    }
    if (!make_domains(members, ranks, region)) return false;
    const uint32_t file = log_.accesses()[members.front()].file;
    // The first rounds of all aggregators, then the second rounds ...
    std::vector<std::size_t> next(domains_.size());
    for (bool more = true; more;) {
      more = false;
      int64_t round = std::numeric_limits<int64_t>::max();
      for (std::size_t d = 0; d < domains_.size(); ++d) {
        if (next[d] < domains_[d].rounds().size())
          round = std::min(round, domains_[d].rounds()[next[d]].number);
      }
      for (std::size_t d = 0; d < domains_.size(); ++d) {
        const auto& rounds = domains_[d].rounds();
        if (next[d] >= rounds.size()) continue;
        more = true;
        if (rounds[next[d]].number != round) continue;
        const Range asked = rounds[next[d]++].asked;
        int64_t& last_page =
            last_pages_.try_emplace((uint64_t{file} << 32) | d, int64_t{-1}).first->second;
        recorder.begin(0);
        if (!recorder.touch(file, asked.begin, asked.end, &last_page)) return false;
      }
    }
    return true;
  }

 private:
  bool make_domains(std::span<const uint32_t> members, uint32_t ranks, Range region) {
    const int64_t count = std::min(aggregation_.aggregators, ranks);
    const int64_t domain_bytes = parts_of(region.end - region.begin, count);
    domains_.clear();
    for (int64_t begin = region.begin; begin < region.end;) {
      const int64_t end = region.end - begin > domain_bytes ? begin + domain_bytes : region.end;
      domains_.emplace_back(begin, end);
      begin = end;
    }
    uint64_t left = most_;
    for (Domain& domain : domains_) {
      for (const uint32_t index : members) domain.add(log_, log_.accesses()[index]);
      for (const uint32_t index : members) {
        if (!domain.add_rounds(log_, log_.accesses()[index], aggregation_.buffer_bytes, left))
          return false;
      }
      domain.finish();
      left -= domain.rounds().size();
    }
    return true;
  }

  const AccessLog& log_;
  const Aggregation& aggregation_;
  uint64_t most_;
  std::vector<Domain> domains_;                       // of the current call
  std::unordered_map<uint64_t, int64_t> last_pages_;  // by file and aggregator
};

// Collects requests, access by access.
class Builder {
 public:
  explicit Builder(std::size_t accesses) { request_of_.reserve(accesses); }

  std::size_t begin(uint32_t ranks, bool collective) {
    list_.push_back({0, 0, 0, ranks, collective});
    return list_.size() - 1;
  }
  // Adds the next access of the log to `request`.
  void add(const DataAccess& access, std::size_t request) {
    list_[request].time_ns = access.start_ns;
    ++list_[request].count;
    request_of_.push_back(static_cast<uint32_t>(request));
  }
  const Request& at(std::size_t request) const { return list_[request]; }

  Requests finish() {
    uint32_t first = 0;
    for (Request& request : list_) {
      request.first = first;
      first += std::exchange(request.count, 0);
    }
    Requests requests;
    requests.members.resize(request_of_.size());
    for (uint32_t i = 0; i < request_of_.size(); ++i) {
      Request& request = list_[request_of_[i]];
      requests.members[request.first + request.count++] = i;
    }
    std::ranges::stable_sort(list_, {}, &Request::time_ns);
    requests.list = std::move(list_);
    return requests;
  }

 private:
  std::vector<Request> list_;
  std::vector<uint32_t> request_of_;  // per access of the log
};

// Requests of the calls that the trace marks as collective.
Requests marked_requests(const AccessLog& log) {
  // Group, index among the group's collective calls, routine.
  using Call = std::tuple<uint32_t, uint32_t, uint16_t>;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> made;  // collective calls by group and handle
  std::map<Call, std::size_t> of_call;
  Builder requests(log.accesses().size());
  for (const DataAccess& access : log.accesses()) {
    if (access.group == independent) {
      requests.add(access, requests.begin(1, false));
      continue;
    }
    const uint32_t number = made[{access.group, access.handle}]++;
    const Call call{access.group, number, access.routine};
    const uint32_t ranks = log.ranks_of_group(access.group);
    auto found = of_call.find(call);
    if (found == of_call.end()) found = of_call.emplace(call, requests.begin(ranks, true)).first;
    requests.add(access, found->second);
    if (requests.at(found->second).count >= ranks) of_call.erase(found);
  }
  return requests.finish();
}

// Unites accesses of different processes within a window of time; each process occurs once per
// request.
Requests united_requests(const AccessLog& log, int64_t window_ns) {
  constexpr int64_t latest = std::numeric_limits<int64_t>::max();
  constexpr std::size_t none = ~std::size_t{0};
  using Kind = std::pair<uint32_t, bool>;  // file, and whether it writes
  struct Open {
    std::size_t request = none;
    int64_t until_ns = 0;
  };
  std::map<Kind, Open> open;
  std::map<std::pair<uint32_t, Kind>, std::size_t> taken;  // latest request of a process, by kind
  Builder requests(log.accesses().size());
  for (const DataAccess& access : log.accesses()) {
    const Kind kind{access.file, access.writes};
    Open& current = open[kind];
    std::size_t& last = taken.try_emplace({access.process, kind}, none).first->second;
    if (current.request == none || access.start_ns > current.until_ns || last == current.request) {
      const bool for_ever = access.start_ns > 0 && window_ns > latest - access.start_ns;
      current = {requests.begin(log.processes(), true),
                 for_ever ? latest : access.start_ns + window_ns};
    }
    requests.add(access, current.request);
    last = current.request;
  }
  return requests.finish();
}

}  // namespace

Asked asked_within(const AccessLog& log, const DataAccess& access, int64_t begin, int64_t end) {
  begin = std::max(begin, access.offset);
  end = std::min(end, access.end);
  if (begin >= end) return {};
  if (access.view == no_view) return {begin, end, end - begin};
  const Tiling& tiling = log.view(access.view);
  const int64_t first = std::max(access.position, tiling.data_below(begin));
  const int64_t last = std::min(access.position + access.bytes, tiling.data_below(end)) - 1;
  if (first > last) return {};
  return {tiling.offset_of(first), tiling.offset_of(last) + 1, last + 1 - first};
}

Requests requests_of(const AccessLog& log, int64_t window_ns) {
  return log.has_collective() || window_ns < 0 ? marked_requests(log)
                                               : united_requests(log, window_ns);
}

bool aggregated_touches(const AccessLog& log, int64_t page_bytes, int64_t least_past,
                        const Aggregation& aggregation, uint64_t most, Shown& shown,
                        Progress& progress, bool pieces) {
  const Caches one{{}, {least_past}};
  const Requests requests = requests_of(log, aggregation.window_ns);
  return record(page_bytes, one, most, pieces, shown, [&](TouchRecorder& recorder) {
    Aggregator aggregator(log, aggregation, most);
    std::vector<int64_t> last_pages(log.handles(), -1);
    return std::ranges::all_of(requests.list, [&](const Request& request) {
      const std::span<const uint32_t> members = requests.of(request);
      progress.add(members.size());
      if (request.collective) return aggregator.touch(members, request.ranks, recorder);
      const DataAccess& access = log.accesses()[members.front()];
      return touch_access(log, access, &last_pages[access.handle], recorder);
    });
  });
}

}  // namespace forebay::sim
