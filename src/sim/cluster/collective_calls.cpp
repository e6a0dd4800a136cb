#include "sim/cluster/collective_calls.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace forebay::sim {

CollectiveCalls::CollectiveCalls(const AccessLog& log, bool used, int64_t window_ns,
                                 Picoseconds message, std::span<const uint32_t> node_of_process,
                                 Waits& waits)
    : log_(log), message_(message), node_of_process_(node_of_process), waits_(waits) {
  if (!used || (!log.has_collective() && window_ns < 0)) return;
  requests_ = requests_of(log, window_ns);
  request_of_.resize(log.accesses().size());
  for (uint32_t r = 0; r < requests_.list.size(); ++r) {
    for (const uint32_t access : requests_.of(requests_.list[r])) request_of_[access] = r;
  }
}

uint32_t CollectiveCalls::node_of(uint32_t access) const {
  return node_of_process_[log_.accesses()[access].process];
}

bool CollectiveCalls::unites(uint32_t access) const {
  return !request_of_.empty() && requests_.list[request_of_[access]].count > 1;
}

CollectiveCalls::Came CollectiveCalls::come(uint32_t access) {
  const uint32_t request = request_of_[access];
  std::shared_ptr<CollectiveCall>& known = calls_[request];
  if (known == nullptr) known = std::make_shared<CollectiveCall>();
  Came came{known, known->parts.size(), false};
  CollectiveCall& call = *came.call;
  if (call.closed) return {};
  const DataAccess& of = log_.accesses()[access];
  const Extent region{of.offset, of.end - of.offset};
  call.parts.push_back({access, node_of(access), region, region.offset});
  const Picoseconds came_at = Process::current()->kernel().now();
  const bool all = call.parts.size() == requests_.list[request].count;
  if (!all) {
    call.waiting.wait();
    if (call.released) {
      waits_.add(node_of(access), call.last_node, Waiting::collective, call.began - came_at);
      return came;
    }
    ++without_some_;
  }
  call.closed = came.last = true;
  call.began = Process::current()->kernel().now();
  call.last_node = node_of(access);
  if (all) calls_.erase(request);
  return came;
}

void CollectiveCalls::release(const Came& came) {
  came.call->released = true;
  came.call->waiting.wake_all();
}

Picoseconds CollectiveCalls::agreement(std::size_t processes) const {
  return message_ * static_cast<int64_t>(std::bit_width(processes - 1));
}

bool CollectiveCalls::go_without() {
  constexpr uint32_t none = std::numeric_limits<uint32_t>::max();
  uint32_t earliest = none;  // requests are in the order of their times
  for (const auto& [request, call] : calls_) {
    if (!call->closed) earliest = std::min(earliest, request);
  }
  if (earliest == none) return false;
  calls_[earliest]->waiting.wake_one();
  return true;
}

PaceView CallPace::look() const {
  PaceView view(mine().region, mine().offset);
  for (const CollectiveCall::Part& other : call_.parts) {
    if (&other == &mine() || other.node != mine().node) continue;
    if (other.begun)
      view.add(other.region, other.offset);
    else
      view.add_not_begun();
  }
  return view;
}

}  // namespace forebay::sim
