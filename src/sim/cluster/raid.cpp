#include "sim/cluster/raid.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace forebay::sim {

namespace {
// A word of the group's own events: the request, the member and the part that a member has done.
constexpr int raid_member_shift = 32, raid_part_shift = 56;

int64_t fewest_members(RaidLevel level) {
  switch (level) {
    case RaidLevel::raid0:
      return 1;
    case RaidLevel::raid1:
      return 2;
    case RaidLevel::raid5:
      return 3;
    case RaidLevel::raid6:
      break;
  }
  return 4;
}
}  // namespace

Raid::Raid(Kernel& kernel, RaidLevel level, int64_t stripe_unit_bytes,
           std::vector<BlockDevice*> members)
    : kernel_(kernel),
      level_(level),
      unit_(stripe_unit_bytes),
      parities_(level == RaidLevel::raid5   ? 1
                : level == RaidLevel::raid6 ? 2
                                            : 0) {
  const auto count = static_cast<int64_t>(members.size());
  if (count < fewest_members(level) || unit_ <= 0) {
    throw std::invalid_argument("a RAID group of this level needs a stripe unit and " +
                                std::to_string(fewest_members(level)) + " members, not " +
                                std::to_string(count));
  }
  int64_t smallest = INT64_MAX;
  for (BlockDevice* device : members) {
    smallest = std::min(smallest, device->bytes());
    members_.push_back({device, 0, 0});
  }
  gathered_.resize(members_.size());
  data_members_ = level == RaidLevel::raid1 ? 1 : count - parities_;
  bytes_ = smallest / unit_ * unit_ * data_members_;
}

void Raid::submit(bool writes, Extent place, Then done) {
  accept_request(counts_, bytes(), writes, place);
  if (place.empty()) {
    kernel_.after(0, done);
    return;
  }
  const uint32_t request = free_ != none ? free_ : static_cast<uint32_t>(requests_.size());
  if (free_ == none) requests_.emplace_back();
  if (free_ != none) free_ = requests_[request].next;
  requests_[request] = {place, done, 0, 0, none};
  if (under_way_++ == 0) busy_since_ = kernel_.now();
  counts_.longest_queue = std::max(counts_.longest_queue, under_way_);
  if (level_ == RaidLevel::raid1) {
    mirror(request, writes);
  } else if (!writes || parities_ == 0) {
    read_data(request, writes ? Part::write : Part::read, place);
  } else {
    write_rows(request);
  }
}

void Raid::happen(uint64_t word) {
  const auto request = static_cast<uint32_t>(word);
  const auto member = static_cast<std::size_t>(word >> raid_member_shift & 0xffffff);
  --members_[member].under_way;
  --requests_[request].left;
  if (static_cast<Part>(word >> raid_part_shift) == Part::read_old &&
      --requests_[request].old_left == 0) {
    const Extent place = requests_[request].place;
    update_row(request, Part::write, head(place));
    update_row(request, Part::write, tail(place));
  }
  if (requests_[request].left == 0) finish(request);
}

void Raid::finish(uint32_t request) {
  const Then done = requests_[request].done;
  requests_[request].next = free_;
  free_ = request;
  if (--under_way_ == 0) counts_.busy += kernel_.now() - busy_since_;
  done.happen();
}

void Raid::ask(uint32_t request, Part part, int64_t member, Extent place) {
  const auto index = static_cast<std::size_t>(member);
  Member& of = members_[index];
  ++of.under_way;
  of.place = place.end();
  ++requests_[request].left;
  if (part == Part::read_old) ++requests_[request].old_left;
  const uint64_t word = request | uint64_t{index} << raid_member_shift |
                        static_cast<uint64_t>(part) << raid_part_shift;
  of.device->submit(part == Part::write, place, {this, word});
}

// A read goes to the member with the shortest queue; of several, to the one whose last request
// ended nearest.
void Raid::mirror(uint32_t request, bool writes) {
  const Extent place = requests_[request].place;
  if (writes) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      ask(request, Part::write, static_cast<int64_t>(i), place);
    }
    return;
  }
  std::size_t best = 0;
  const auto better = [&](const Member& one, const Member& other) {
    if (one.under_way != other.under_way) return one.under_way < other.under_way;
    return std::abs(one.place - place.offset) < std::abs(other.place - place.offset);
  };
  for (std::size_t i = 1; i < members_.size(); ++i) {
    if (better(members_[i], members_[best])) best = i;
  }
  ask(request, Part::read, static_cast<int64_t>(best), place);
}

void Raid::read_data(uint32_t request, Part part, Extent place) {
  for (int64_t begin = place.offset; begin < place.end();) {
    const int64_t end = std::min(place.end(), round_down(begin, row_bytes()) + row_bytes());
    ask_data(request, part, {begin, end - begin});
    begin = end;
  }
  ask_gathered(request, part);
}

// Whole rows: every member writes a unit of each, one after the other.
void Raid::write_rows(uint32_t request) {
  const Extent place = requests_[request].place;
  const Extent before = head(place), after = tail(place);
  update_row(request, Part::read_old, before);
  update_row(request, Part::read_old, after);
  const int64_t rows = (place.length - before.length - after.length) / row_bytes();
  if (rows == 0) return;
  const int64_t first_row = before.end() / row_bytes();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    ask(request, Part::write, static_cast<int64_t>(i), {first_row * unit_, rows * unit_});
  }
}

// Reads or writes the data of `place` and the parity that depends on it.
void Raid::update_row(uint32_t request, Part part, Extent place) {
  if (place.empty()) return;
  ask_data(request, part, place);
  ask_gathered(request, part);
  const int64_t row = place.offset / row_bytes();
  const int64_t begin = place.offset % unit_;
  const bool one_unit = begin + place.length <= unit_;
  const Extent parity =
      one_unit ? Extent{row * unit_ + begin, place.length} : Extent{row * unit_, unit_};
  for (int64_t i = 0; i < parities_; ++i) ask(request, part, parity_member(row, i), parity);
}

void Raid::ask_data(uint32_t request, Part part, Extent place) {
  const int64_t row = place.offset / row_bytes();
  for (int64_t begin = place.offset; begin < place.end();) {
    const int64_t end = std::min(place.end(), round_down(begin, unit_) + unit_);
    const int64_t member = data_member(row, begin % row_bytes() / unit_);
    const Extent here{row * unit_ + begin % unit_, end - begin};
    Extent& gathered = gathered_[static_cast<std::size_t>(member)];
    if (!gathered.empty() && gathered.end() == here.offset) {
      gathered.length += here.length;
    } else {
      if (!gathered.empty()) ask(request, part, member, gathered);
      gathered = here;
    }
    begin = end;
  }
}

void Raid::ask_gathered(uint32_t request, Part part) {
  for (std::size_t i = 0; i < gathered_.size(); ++i) {
    if (!gathered_[i].empty()) ask(request, part, static_cast<int64_t>(i), gathered_[i]);
    gathered_[i] = {};
  }
}

int64_t Raid::parity_member(int64_t row, int64_t which) const {
  const auto count = static_cast<int64_t>(members_.size());
  return (count - 1 - row % count + which) % count;
}

int64_t Raid::data_member(int64_t row, int64_t which) const {
  if (parities_ == 0) return which;
  return (parity_member(row, 0) + parities_ + which) % static_cast<int64_t>(members_.size());
}

Extent Raid::head(Extent place) const {
  const int64_t row_end = round_down(place.offset, row_bytes()) + row_bytes();
  const bool whole = place.offset % row_bytes() == 0 && place.end() >= row_end;
  return whole ? Extent{place.offset, 0}
               : Extent{place.offset, std::min(place.end(), row_end) - place.offset};
}

Extent Raid::tail(Extent place) const {
  const int64_t begin = std::max(head(place).end(), round_down(place.end(), row_bytes()));
  return {begin, place.end() - begin};
}

}  // namespace forebay::sim
