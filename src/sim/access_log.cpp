#include "sim/access_log.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace forebay::sim {

std::vector<uint32_t> shared_opens(std::span<const trace::Open> opens) {
  // By process, file and number of ranks: how often the process has opened the file with so many.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> times;
  // By file, number of ranks and index of the open (j): the group being filled, and how many
  // processes it has.
  struct Filling {
    uint32_t met = 0;
    uint32_t group = 0;
  };
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Filling> filling;
  std::vector<uint32_t> groups;
  uint32_t count = 0;
  for (const trace::Open& open : opens) {
    const uint32_t ranks = std::max<uint32_t>(open.ranks, 1);
    const uint32_t time = times[{open.process, open.file, ranks}]++;
    Filling& current = filling[{open.file, ranks, time}];
    if (current.met % ranks == 0) current.group = count++;
    ++current.met;
    groups.push_back(current.group);
  }
  return groups;
}

bool AccessLog::has_place(const DataAccess& access) const {
  if (access.view == no_view) return access.offset >= 0 && access.offset <= access.end;
  if (access.view < 0 || static_cast<std::size_t>(access.view) >= views_.size()) return false;
  const trace::Place place = trace::place_of(view(access.view), access.position, access.bytes);
  return place.offset >= 0 && place.offset == access.offset && place.end == access.end;
}

bool AccessLog::add(const DataAccess& access) {
  if (access.bytes <= 0) return true;
  if (access.view != no_view) {
    const auto view = static_cast<std::size_t>(access.view);
    if (monotone_.size() < views_.size()) monotone_.resize(views_.size());
    if (monotone_[view] == 0) monotone_[view] = views_[view].monotone() ? 1 : 2;
    if (monotone_[view] == 2) {
      ++backward_;
      return true;
    }
  }
  if (accesses_.size() >= most_) return false;
  accesses_.push_back(access);
  processes_ = std::max(processes_, access.process + 1);
  handles_ = std::max(handles_, access.handle + 1);
  has_collective_ |= access.group != independent;
  return true;
}

void AccessLog::sort() {
  const auto earlier = [](const DataAccess& a, const DataAccess& b) {
    return a.start_ns < b.start_ns;
  };
  if (!std::is_sorted(accesses_.begin(), accesses_.end(), earlier))
    std::stable_sort(accesses_.begin(), accesses_.end(), earlier);
}

}  // namespace forebay::sim
