#include "sim/cluster/two_phase.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

namespace forebay::sim {

// An aggregator's part of a round.
class TwoPhase::Window final : public Event {
 public:
  Window(TwoPhase& of, uint32_t node, const DataAccess& like, Countdown& all)
      : of_(of), node_(node), file_(like.file), writes_(like.writes), all_(all) {}

  void add(uint32_t node, const Asked& asked) {
    pieces_.push_back({node, asked.bytes});
    begin_ = std::min(begin_, asked.begin);
    end_ = std::max(end_, asked.end);
    bytes_ += asked.bytes;
  }

  void begin() {
    if (writes_)
      exchange();
    else
      transfer(false, {begin_, end_ - begin_}, moved);
  }

 private:
  enum Word : uint64_t { piece, filled, moved };
  struct Piece {
    uint32_t node;
    int64_t bytes;
  };

  void happen(uint64_t word) override {
    if (word == piece) {
      if (--left_ > 0) return;
      if (writes_)
        fill_gaps();
      else
        all_.happen(0);
    } else if (word == filled) {
      transfer(true, {begin_, end_ - begin_}, moved);
    } else if (writes_) {
      all_.happen(0);
    } else {
      exchange();
    }
  }

  void exchange() {
    left_ = std::ssize(pieces_);
    for (const Piece& one : pieces_) {
      const uint32_t from = writes_ ? one.node : node_, to = writes_ ? node_ : one.node;
      of_.counts_.exchanged_bytes += one.bytes;
      of_.network_.send(from, to, one.bytes, {this, piece});
    }
  }

  void fill_gaps() {
    const int64_t there = std::min(end_, of_.file_system_.size(file_));
    if (bytes_ < end_ - begin_ && there > begin_)
      transfer(false, {begin_, there - begin_}, filled);
    else
      transfer(true, {begin_, end_ - begin_}, moved);
  }

  void transfer(bool writes, Extent extent, Word then) {
    of_.file_system_.access(node_, file_, writes, {&extent, 1}, {this, then});
  }

  TwoPhase& of_;
  uint32_t node_;
  uint32_t file_;
  bool writes_;
  Countdown& all_;
  std::vector<Piece> pieces_;
  int64_t begin_ = std::numeric_limits<int64_t>::max(), end_ = 0, bytes_ = 0;
  int64_t left_ = 0;  // pieces that have not arrived
};

TwoPhase::TwoPhase(Network& network, FileSystem& file_system, CollectiveCalls& calls,
                   const AccessLog& log, const TwoPhaseSettings& settings,
                   std::span<const uint32_t> node_of_process)
    : network_(network),
      file_system_(file_system),
      calls_(calls),
      log_(log),
      settings_(settings),
      node_of_process_(node_of_process) {}

bool TwoPhase::take_part(uint32_t access) {
  const CollectiveCalls::Came came = calls_.come(access);
  if (came.call == nullptr) return false;
  if (!came.last) return came.call->united;
  std::vector<uint32_t> accesses;
  for (const CollectiveCall::Part& part : came.call->parts) accesses.push_back(part.access);
  // Where each process's bytes are.
  Process::current()->sleep(calls_.agreement(accesses.size()));
  came.call->united = interleaved(accesses);
  if (came.call->united) {
    ++counts_.calls;
    exchange(accesses);
  }
  calls_.release(came);
  return came.call->united;
}

// Whether a process's region begins before that of the process before it has ended.
bool TwoPhase::interleaved(std::vector<uint32_t> accesses) const {
  const auto all = log_.accesses();
  std::ranges::sort(accesses, {}, [&](uint32_t number) { return all[number].process; });
  for (std::size_t i = 1; i < accesses.size(); ++i) {
    if (all[accesses[i]].offset < all[accesses[i - 1]].end) return true;
  }
  return false;
}

std::vector<TwoPhase::Domain> TwoPhase::domains_of(std::span<const uint32_t> accesses) const {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
  std::vector<uint32_t> nodes;
  for (const uint32_t number : accesses) {
    const DataAccess& access = log_.accesses()[number];
    begin = std::min(begin, access.offset);
    end = std::max(end, access.end);
    nodes.push_back(node_of_process_[access.process]);
  }
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (settings_.aggregators != 0 && settings_.aggregators < nodes.size())
    nodes.resize(settings_.aggregators);
  const int64_t bytes = (end - begin - 1) / std::ssize(nodes) + 1;
  std::vector<Domain> domains;
  for (const uint32_t node : nodes) {
    if (begin >= end) break;
    const int64_t domain_end = end - begin > bytes ? begin + bytes : end;
    domains.push_back({node, begin, domain_end, begin});
    begin = domain_end;
  }
  return domains;
}

// The first byte at or after `from` that an access requests in the domain, or its end.
int64_t TwoPhase::next_asked(const Domain& domain, std::span<const uint32_t> accesses,
                             int64_t from) const {
  int64_t next = domain.end;
  for (const uint32_t number : accesses) {
    const Asked asked = asked_within(log_, log_.accesses()[number], from, next);
    if (asked.bytes > 0) next = asked.begin;
  }
  return next;
}

void TwoPhase::exchange(std::span<const uint32_t> accesses) {
  std::vector<Domain> domains = domains_of(accesses);
  for (Domain& domain : domains) domain.next = next_asked(domain, accesses, domain.begin);
  const DataAccess& like = log_.accesses()[accesses.front()];
  const int64_t buffer = settings_.buffer_bytes;
  for (;;) {
    // The next round in which anything is requested.
    int64_t round = std::numeric_limits<int64_t>::max();
    for (Domain& domain : domains) {
      if (domain.next < domain.end) round = std::min(round, (domain.next - domain.begin) / buffer);
    }
    if (round == std::numeric_limits<int64_t>::max()) return;
    Process::current()->sleep(calls_.agreement(accesses.size()));
    std::deque<Window> windows;
    Countdown all;
    for (Domain& domain : domains) {
      if (domain.next >= domain.end || (domain.next - domain.begin) / buffer != round) continue;
      const int64_t from = domain.begin + round * buffer;
      const int64_t to = domain.end - from > buffer ? from + buffer : domain.end;
      Window& window = windows.emplace_back(*this, domain.node, like, all);
      for (const uint32_t number : accesses) {
        const DataAccess& access = log_.accesses()[number];
        const Asked asked = asked_within(log_, access, from, to);
        if (asked.bytes > 0) window.add(node_of_process_[access.process], asked);
      }
      domain.next = next_asked(domain, accesses, to);
    }
    all.expect(std::ssize(windows));
    for (Window& window : windows) window.begin();
    all.wait();
  }
}

}  // namespace forebay::sim
