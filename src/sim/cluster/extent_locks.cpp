#include "sim/cluster/extent_locks.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace forebay::sim {

bool ExtentLocks::conflict(const Lock& one, const Lock& other) {
  return one.client != other.client && (one.writes || other.writes) &&
         one.extent.offset < other.extent.end() && other.extent.offset < one.extent.end();
}

void ExtentLocks::ask(const Lock& lock, Outcome& outcome) {
  waiting_.push_back(lock);
  if (settle(waiting_.size() - 1, outcome)) waiting_.pop_back();
}

void ExtentLocks::give_back(Number number, Outcome& outcome) {
  std::erase_if(held_, [number](const Held& held) { return held.lock.number == number; });
  for (std::size_t request = 0; request < waiting_.size();) {
    if (settle(request, outcome))
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(request));
    else
      ++request;
  }
}

bool ExtentLocks::settle(std::size_t request, Outcome& outcome) {
  const Lock& asked = waiting_[request];
  for (std::size_t earlier = 0; earlier < request; ++earlier) {
    if (conflict(waiting_[earlier], asked)) return false;
  }
  bool free = true;
  for (Held& held : held_) {
    if (!conflict(held.lock, asked)) continue;
    free = false;
    if (held.called_back) continue;
    held.called_back = true;
    outcome.called_back.push_back(held.lock);
  }
  if (!free) return false;
  Lock granted = asked;
  granted.extent = grown(asked);
  held_.push_back({granted});
  outcome.granted.push_back(granted);
  return true;
}

Extent ExtentLocks::grown(const Lock& asked) const {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
  int64_t others = 0;
  const auto keep_clear_of = [&](const Lock& other) {
    if (other.client == asked.client || !(other.writes || asked.writes)) return;
    ++others;
    if (other.extent.end() <= asked.extent.offset) begin = std::max(begin, other.extent.end());
    if (other.extent.offset >= asked.extent.end()) end = std::min(end, other.extent.offset);
  };
  for (const Held& held : held_) keep_clear_of(held.lock);
  // A request that overlaps this one comes later: what is beyond both may still be this one's.
  for (const Lock& waiting : waiting_) keep_clear_of(waiting);
  if (asked.writes && others > crowd)
    end = std::min(end, std::max(asked.extent.end(), asked.extent.offset + most_growth));
  return {begin, end - begin};
}

}  // namespace forebay::sim
