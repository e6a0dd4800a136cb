#include "runtime/cache/seat_pace.h"

#include <algorithm>

#include "extent/status.h"

namespace forebay::runtime {

SeatPace::SeatPace(Registry& registry, Seat& mine, int64_t distance_bytes)
    : registry_(registry), mine_(mine), distance_(distance_bytes) {}

void SeatPace::announce() {
  ++access_;
  announced_ = true;
  Progress& progress = mine_.progress[access_ % 2];
  progress.begin.store(0, std::memory_order_relaxed);
  progress.end.store(0, std::memory_order_relaxed);
  progress.offset.store(Progress::not_begun, std::memory_order_release);
}

void SeatPace::begin(Extent region) {
  region_ = region;
  next_stop_ = region.offset;
  Progress& progress = mine_.progress[access_ % 2];
  progress.begin.store(region.offset, std::memory_order_relaxed);
  progress.end.store(region.end(), std::memory_order_relaxed);
  progress.offset.store(region.offset, std::memory_order_release);
}

void SeatPace::end() {
  announced_ = false;
  mine_.progress[access_ % 2].offset.store(Progress::ended, std::memory_order_release);
}

bool SeatPace::come_to(int64_t offset) {
  constexpr int64_t steps = 8;  // between two handles that are as far apart as they may be
  offset_ = offset;
  mine_.progress[access_ % 2].offset.store(offset, std::memory_order_release);
  if (!knows_others_) (void)within_memory([this] { find_others(); });
  const Others others = look();
  next_stop_ = offset + std::max<int64_t>(others.distance / steps, 1);
  return others.behind <= others.distance;
}

// Goes on when the distance is half as long, so that the next wait is not at the next stop.
void SeatPace::wait() {
  Backoff backoff;
  for (;;) {
    const Others others = look();
    if (others.behind <= others.distance / 2) return;
    backoff.pause();
  }
}

// Handles in other regions have parts of the cache, too, as large for each handle.
SeatPace::Others SeatPace::look() const {
  const int64_t group = mine_.group.load(std::memory_order_relaxed);
  int64_t together = 1, handles = 1, behind = 0;
  for (const Seat* other : others_) {
    if (other->group.load() != group || other->file.load() == no_entry) continue;  // it has left
    ++handles;
    const Progress& progress = other->progress[access_ % 2];
    const int64_t offset = progress.offset.load(std::memory_order_acquire);
    if (offset == Progress::not_begun) {
      ++together;
      behind = std::max(behind, offset_ - region_.offset);
      continue;
    }
    const int64_t begin = progress.begin.load(), end = progress.end.load();
    if (!same_region({begin, end - begin}, region_)) continue;
    ++together;
    if (offset != Progress::ended && end > offset_) behind = std::max(behind, offset_ - offset);
  }
  return {behind, std::max<int64_t>(distance_ * together / handles, 1)};
}

// The handles of the group take their seats before the first of them can be in an access.
void SeatPace::find_others() {
  knows_others_ = true;
  const int64_t group = mine_.group.load();
  for (Seat& seat : registry_.made_seats()) {
    if (&seat != &mine_ && seat.file.load() != no_entry && seat.group.load() == group)
      others_.push_back(&seat);
  }
}

}  // namespace forebay::runtime
