#include "policy/ghosts.h"

#include <bit>

namespace forebay {

uint32_t Ghosts::buckets_for(uint32_t capacity) {
  return static_cast<uint32_t>(std::bit_ceil(std::uint64_t{capacity} + 1));
}

std::size_t Ghosts::state_bytes(uint32_t capacity, uint32_t lists) {
  return sizeof(Head) + Links::state_bytes(capacity, lists) +
         (std::size_t{lists} + lists % 2 + buckets_for(capacity)) * sizeof(uint32_t) +
         (std::size_t{capacity} + capacity % 2) * sizeof(Entry);
}

Ghosts::Ghosts(void* state, uint32_t capacity, uint32_t lists)
    : capacity_(capacity),
      lists_(lists),
      bucket_mask_(buckets_for(capacity) - 1),
      head_(static_cast<Head*>(state)),
      links_(reinterpret_cast<Link*>(head_ + 1)),
      sizes_(reinterpret_cast<uint32_t*>(reinterpret_cast<Link*>(head_ + 1) + capacity + lists)),
      buckets_(sizes_ + lists + lists % 2),
      entries_(reinterpret_cast<Entry*>(buckets_ + buckets_for(capacity))) {}

void Ghosts::reset() {
  for (GhostIndex g = 0; g < capacity_; ++g)
    entries_[g] = {{0, 0}, g + 1 < capacity_ ? g + 1 : none};
  head_->first_free = capacity_ > 0 ? 0 : none;
  links_.reset(capacity_ + lists_);
  for (uint32_t list = 0; list < lists_; ++list) sizes_[list] = 0;
  for (uint32_t b = 0; b <= bucket_mask_; ++b) buckets_[b] = none;
}

Ghosts::GhostIndex Ghosts::find(PageKey key) const {
  const uint64_t hash = hash_of(key);
  GhostIndex ghost = bucket(hash);
  while (ghost != none && !entries_[ghost].is(hash)) ghost = entries_[ghost].next();
  return ghost;
}

void Ghosts::add(uint32_t list, PageKey key) {
  const uint64_t hash = hash_of(key);
  const GhostIndex ghost = head_->first_free;
  Entry& entry = entries_[ghost];
  head_->first_free = entry.next();
  GhostIndex& first = bucket(hash);
  entry = {{static_cast<uint32_t>(hash), static_cast<uint32_t>(hash >> 32)}, first | list << 31};
  first = ghost;
  links_.push_front(ring_of(list), ghost);
  ++sizes_[list];
}

void Ghosts::remove(GhostIndex ghost) {
  Entry& entry = entries_[ghost];
  // Any half of the hash suffices: there are fewer than 2^32 buckets.
  GhostIndex& first = bucket(entry.hash[0]);
  if (first == ghost) {
    first = entry.next();
  } else {
    GhostIndex before = first;
    while (entries_[before].next() != ghost) before = entries_[before].next();
    entries_[before].set_next(entry.next());
  }
  links_.unlink(ghost);
  --sizes_[entry.list()];
  entry.set_next(head_->first_free);
  head_->first_free = ghost;
}

}  // namespace forebay
