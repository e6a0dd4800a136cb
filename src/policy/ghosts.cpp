#include "policy/ghosts.h"

#include <bit>

namespace forebay {

uint32_t Ghosts::buckets_for(uint32_t capacity) {
  return static_cast<uint32_t>(std::bit_ceil(std::uint64_t{capacity} + 1));
}

std::size_t Ghosts::state_bytes(uint32_t capacity, uint32_t lists) {
  return sizeof(Head) + capacity * sizeof(Entry) + (std::size_t{capacity} + lists) * sizeof(Link) +
         (std::size_t{lists} + lists % 2 + buckets_for(capacity)) * sizeof(uint32_t);
}

Ghosts::Ghosts(void* state, uint32_t capacity, uint32_t lists)
    : capacity_(capacity),
      lists_(lists),
      bucket_mask_(buckets_for(capacity) - 1),
      head_(static_cast<Head*>(state)),
      entries_(reinterpret_cast<Entry*>(head_ + 1)),
      links_(reinterpret_cast<Link*>(entries_ + capacity)),
      sizes_(reinterpret_cast<uint32_t*>(reinterpret_cast<Link*>(entries_ + capacity) + capacity +
                                         lists)),
      buckets_(sizes_ + lists + lists % 2) {}

void Ghosts::reset() {
  for (GhostIndex g = 0; g < capacity_; ++g)
    entries_[g] = {{}, g + 1 < capacity_ ? g + 1 : none, 0};
  head_->first_free = capacity_ > 0 ? 0 : none;
  links_.reset(capacity_ + lists_);
  for (uint32_t list = 0; list < lists_; ++list) sizes_[list] = 0;
  for (uint32_t b = 0; b <= bucket_mask_; ++b) buckets_[b] = none;
}

Ghosts::GhostIndex Ghosts::find(PageKey key) const {
  GhostIndex ghost = bucket(key);
  while (ghost != none && !(entries_[ghost].key == key)) ghost = entries_[ghost].hash_next;
  return ghost;
}

void Ghosts::add(uint32_t list, PageKey key) {
  const GhostIndex ghost = head_->first_free;
  Entry& entry = entries_[ghost];
  head_->first_free = entry.hash_next;
  GhostIndex& first = bucket(key);
  entry = {key, first, list};
  first = ghost;
  links_.push_front(ring_of(list), ghost);
  ++sizes_[list];
}

void Ghosts::remove(GhostIndex ghost) {
  Entry& entry = entries_[ghost];
  GhostIndex* at = &bucket(entry.key);
  while (*at != ghost) at = &entries_[*at].hash_next;
  *at = entry.hash_next;
  links_.unlink(ghost);
  --sizes_[entry.list];
  entry.hash_next = head_->first_free;
  head_->first_free = ghost;
}

}  // namespace forebay
