// Keys of pages that have left, in lists by the order of their leaving. In the arena; a lookup is a
// hash, everything takes constant time.
#pragma once

#include "policy/links.h"

namespace forebay {

class Ghosts {
 public:
  using GhostIndex = uint32_t;
  static constexpr GhostIndex none = no_frame;

  // For at most `capacity` ghosts in `lists` lists, aligned to 8.
  static std::size_t state_bytes(uint32_t capacity, uint32_t lists);
  Ghosts(void* state, uint32_t capacity, uint32_t lists);

  void reset();
  GhostIndex find(PageKey key) const;
  uint32_t list_of(GhostIndex ghost) const { return entries_[ghost].list; }
  uint32_t size(uint32_t list) const { return sizes_[list]; }
  bool full() const { return head_->first_free == none; }
  // `key` is no ghost, and the table is not full.
  void add(uint32_t list, PageKey key);
  void remove(GhostIndex ghost);
  // Forgets the one of the list that left first; the list is not empty.
  void remove_oldest(uint32_t list) { remove(links_.back(ring_of(list))); }

 private:
  struct Head {
    GhostIndex first_free;
    uint32_t padding;
  };
  struct Entry {
    PageKey key;
    GhostIndex hash_next;  // also the free list's link
    uint32_t list;
  };

  static uint32_t buckets_for(uint32_t capacity);
  FrameIndex ring_of(uint32_t list) const { return capacity_ + list; }
  GhostIndex& bucket(PageKey key) const { return buckets_[hash_of(key) & bucket_mask_]; }

  uint32_t capacity_;
  uint32_t lists_;
  uint32_t bucket_mask_;
  Head* head_;
  Entry* entries_;
  Links links_;
  uint32_t* sizes_;  // of each list
  GhostIndex* buckets_;
};

}  // namespace forebay
