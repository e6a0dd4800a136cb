#include "runtime/cache/seat_pace.h"

#include "extent/status.h"

namespace forebay::runtime {

static_assert(Progress::ended == PaceView::ended);

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
  offset_ = offset;
  mine_.progress[access_ % 2].offset.store(offset, std::memory_order_release);
  if (!knows_others_) (void)within_memory([this] { find_others(); });
  const PaceView view = look();
  next_stop_ = view.next_stop(distance_);
  return view.near(distance_);
}

void SeatPace::wait() {
  Backoff backoff;
  while (!look().near_again(distance_)) backoff.pause();
}

PaceView SeatPace::look() const {
  PaceView view(region_, offset_);
  const int64_t group = mine_.group.load(std::memory_order_relaxed);
  for (const Seat* other : others_) {
    if (other->group.load() != group || other->file.load() == no_entry) continue;  // it has left
    const Progress& progress = other->progress[access_ % 2];
    const int64_t offset = progress.offset.load(std::memory_order_acquire);
    const int64_t begin = progress.begin.load(), end = progress.end.load();
    if (offset == Progress::not_begun)
      view.add_not_begun();
    else
      view.add({begin, end - begin}, offset);
  }
  return view;
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
