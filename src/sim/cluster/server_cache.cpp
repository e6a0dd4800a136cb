#include "sim/cluster/server_cache.h"

#include <algorithm>

namespace forebay::sim {

uint32_t ServerCache::hash_of(uint32_t object, uint32_t block) {
  uint64_t mixed = (uint64_t{object} << 28 | block >> 4) * 0x9e3779b97f4a7c15u;
  mixed ^= mixed >> 32;
  return static_cast<uint32_t>(mixed) << 4 | (block & 15);
}

uint32_t ServerCache::find(uint32_t object, int64_t block) const {
  const auto number = static_cast<uint32_t>(block);
  const uint32_t hash = hash_of(object, number);
  for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
    const Slot& slot = slots_[i];
    if (slot.frame == none) return none;
    if (slot.hash != hash) continue;
    const Frame& frame = frames_[slot.frame];
    if (frame.block == number && frame.object == object) return slot.frame;
  }
}

uint32_t ServerCache::insert(uint32_t object, int64_t block) {
  if (free_ == none && frames_.size() == capacity_) {
    const uint32_t oldest = clean.first;
    if (oldest == none) return none;
    unlink(clean, oldest);
    erase(oldest);
  }
  if (2 * (count_ + 1) > slots_.size()) grow();
  uint32_t frame = free_;
  if (frame != none) {
    free_ = frames_[frame].next;
  } else {
    frame = static_cast<uint32_t>(frames_.size());
    frames_.emplace_back();
  }
  const auto number = static_cast<uint32_t>(block);
  frames_[frame] = {object, number, none, none, State::filling};
  const uint32_t hash = hash_of(object, number);
  std::size_t i = hash & mask_;
  while (slots_[i].frame != none) i = (i + 1) & mask_;
  slots_[i] = {hash, frame};
  ++count_;
  return frame;
}

void ServerCache::erase(uint32_t frame) {
  // Those behind the hole move into it, unless their home lies between.
  std::size_t hole = slot_of(frame);
  for (std::size_t i = (hole + 1) & mask_; slots_[i].frame != none; i = (i + 1) & mask_) {
    const std::size_t home = slots_[i].hash & mask_;
    if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = {};
  --count_;
  frames_[frame].object = none;
  frames_[frame].next = free_;
  free_ = frame;
}

std::size_t ServerCache::slot_of(uint32_t frame) const {
  std::size_t i = hash_of(frames_[frame].object, frames_[frame].block) & mask_;
  while (slots_[i].frame != frame) i = (i + 1) & mask_;
  return i;
}

void ServerCache::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.frame == none) continue;
    std::size_t i = slot.hash & mask_;
    while (slots_[i].frame != none) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
}

void ServerCache::append(List& list, uint32_t frame) {
  frames_[frame].previous = list.last;
  frames_[frame].next = none;
  (list.last == none ? list.first : frames_[list.last].next) = frame;
  list.last = frame;
}

void ServerCache::unlink(List& list, uint32_t frame) {
  const auto [object, block, previous, next, state] = frames_[frame];
  (previous == none ? list.first : frames_[previous].next) = next;
  (next == none ? list.last : frames_[next].previous) = previous;
}

}  // namespace forebay::sim
