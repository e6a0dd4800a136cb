// Ghosts, the keys of pages that were evicted, in lists by the time of eviction. They are in the
// arena. A lookup takes one hash; every operation takes constant time.
//
// A ghost keeps only its key's hash_of. The hash distinguishes all keys if there are fewer than
// 2^20 files and 2^43 pages per file. Otherwise a page is taken for another page's ghost once in
// 2^64 cases. This is no error: a policy may take any page for a ghost.
#pragma once

#include "policy/links.h"

namespace forebay {

class Ghosts {
 public:
  using GhostIndex = uint32_t;
  static constexpr GhostIndex none = 0x7fffffffu;

  // Memory for at most `capacity` ghosts in one or two lists, aligned to 8.
  static std::size_t state_bytes(uint32_t capacity, uint32_t lists);
  Ghosts(void* state, uint32_t capacity, uint32_t lists);

  void reset();
  GhostIndex find(PageKey key) const;
  void prefetch(PageKey key) const { __builtin_prefetch(&bucket(hash_of(key))); }  // before a find
  uint32_t list_of(GhostIndex ghost) const { return entries_[ghost].list(); }
  uint32_t size(uint32_t list) const { return sizes_[list]; }
  bool full() const { return head_->first_free == none; }
  // `key` must be no ghost, and the table not full.
  void add(uint32_t list, PageKey key);
  void remove(GhostIndex ghost);
  // Forgets the oldest ghost of the list, which must not be empty.
  void remove_oldest(uint32_t list) { remove(links_.back(ring_of(list))); }

 private:
  struct Head {
    GhostIndex first_free;
    uint32_t padding;
  };
  struct Entry {
    uint32_t hash[2];
    uint32_t link;  // next in the bucket or the free list; the highest bit is the list

    bool is(uint64_t of_key) const {
      return hash[0] == static_cast<uint32_t>(of_key) &&
             hash[1] == static_cast<uint32_t>(of_key >> 32);
    }
    GhostIndex next() const { return link & none; }
    uint32_t list() const { return link >> 31; }
    void set_next(GhostIndex next) { link = (link & ~none) | next; }
  };

  static uint32_t buckets_for(uint32_t capacity);
  FrameIndex ring_of(uint32_t list) const { return capacity_ + list; }
  GhostIndex& bucket(uint64_t hash) const { return buckets_[hash & bucket_mask_]; }

  uint32_t capacity_;
  uint32_t lists_;
  uint32_t bucket_mask_;
  Head* head_;
  Links links_;
  uint32_t* sizes_;  // of each list
  GhostIndex* buckets_;
  Entry* entries_;
};

}  // namespace forebay
