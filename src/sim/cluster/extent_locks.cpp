#include "sim/cluster/extent_locks.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/cluster/extent_set.h"

namespace forebay::sim {

bool ExtentLocks::conflict(const Lock& one, const Lock& other) {
  return one.client != other.client && (one.writes || other.writes) &&
         meet(one.extent, other.extent);
}

void ExtentLocks::ask(const Lock& lock, Outcome& outcome) {
  waiting_.push_back(lock);
  if (settle(waiting_.size() - 1, outcome)) waiting_.pop_back();
}

void ExtentLocks::give_back(Number number, Outcome& outcome) {
  const auto known = extents_.find(number);
  const Extent freed = known->second;
  extents_.erase(known);
  count(held_.take(freed, [number](const Held& held) { return held.lock.number == number; })
            .value.lock,
        -1);
  for (std::size_t request = 0; request < waiting_.size();) {
    if (meet(waiting_[request].extent, freed) && settle(request, outcome))
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(request));
    else
      ++request;
  }
}

bool ExtentLocks::settle(std::size_t request, Outcome& outcome) {
  const Lock& asked = waiting_[request];
  bool free = true;
  held_.each_meeting(asked.extent, [&](auto& entry) {
    if (!conflict(entry.value.lock, asked)) return;
    free = false;
    call_back(entry.value, asked, outcome);
  });
  for (std::size_t earlier = 0; free && earlier < request; ++earlier)
    free = !conflict(waiting_[earlier], asked);
  if (!free) return false;
  Held granted{asked};
  granted.lock.extent = grown(asked);
  outcome.granted.push_back(granted.lock);
  // Those that waited behind this request wait for its lock now.
  const auto behind = std::ranges::find_if(
      waiting_, [&](const Lock& other) { return conflict(granted.lock, other); });
  if (behind != waiting_.end()) call_back(granted, *behind, outcome);
  count(granted.lock, 1);
  extents_.emplace(granted.lock.number, granted.lock.extent);
  held_.insert(granted.lock.extent, granted);
  return true;
}

void ExtentLocks::call_back(Held& held, const Lock& for_lock, Outcome& outcome) {
  if (!std::exchange(held.called_back, true))
    outcome.called_back.push_back({held.lock, for_lock.client});
}

void ExtentLocks::count(const Lock& lock, int64_t more) {
  (lock.writes ? all_.writes : all_.reads) += more;
  Counts& own = of_client_[lock.client];
  (lock.writes ? own.writes : own.reads) += more;
}

Extent ExtentLocks::grown(const Lock& asked) const {
  const auto in_the_way = [&asked](const Lock& other) {
    return other.client != asked.client && (other.writes || asked.writes);
  };
  const auto held_in_the_way = [&](const Held& held) { return in_the_way(held.lock); };
  int64_t begin = held_.last_end(asked.extent.offset, 0, held_in_the_way);
  int64_t end =
      held_.next_begin(asked.extent.end(), std::numeric_limits<int64_t>::max(), held_in_the_way);
  const auto own = of_client_.find(asked.client);
  int64_t others = all_.reads + all_.writes;
  if (own != of_client_.end()) others -= own->second.reads + own->second.writes;
  // A request that overlaps this one comes later: what is beyond both may still be this one's.
  for (const Lock& waiting : waiting_) {
    if (!in_the_way(waiting)) continue;
    ++others;
    if (waiting.extent.end() <= asked.extent.offset) begin = std::max(begin, waiting.extent.end());
    if (waiting.extent.offset >= asked.extent.end()) end = std::min(end, waiting.extent.offset);
  }
  if (asked.writes && others > crowd)
    end = std::min(end, std::max(asked.extent.end(), asked.extent.offset + most_growth));
  return {begin, end - begin};
}

}  // namespace forebay::sim
