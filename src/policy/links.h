// Doubly linked rings over indices, in the arena. Each ring has an index of its own, which closes
// the ring and is in no other. An index that is in no ring links to itself.
#pragma once

#include "policy/policy.h"

namespace forebay {

struct Link {
  FrameIndex previous;
  FrameIndex next;
};

class Links {
 public:
  // Memory for so many indices and rings.
  static std::size_t state_bytes(uint32_t indices, uint32_t rings) {
    return (std::size_t{indices} + rings) * sizeof(Link);
  }
  explicit Links(Link* links) : links_(links) {}

  void reset(uint32_t count) const {
    for (FrameIndex i = 0; i < count; ++i) links_[i] = {i, i};
  }
  bool empty(FrameIndex ring) const { return links_[ring].next == ring; }
  FrameIndex front(FrameIndex ring) const { return links_[ring].next; }
  FrameIndex back(FrameIndex ring) const { return links_[ring].previous; }
  FrameIndex before(FrameIndex i) const { return links_[i].previous; }
  FrameIndex after(FrameIndex i) const { return links_[i].next; }
  bool linked(FrameIndex i) const { return links_[i].next != i; }

  void prefetch(FrameIndex i) const { __builtin_prefetch(&links_[i]); }

  // `i` must be in no ring. `at` is in a ring, or closes it.
  void insert_after(FrameIndex at, FrameIndex i) const {
    const FrameIndex next = links_[at].next;
    links_[i] = {at, next};
    links_[next].previous = i;
    links_[at].next = i;
  }
  void push_front(FrameIndex ring, FrameIndex i) const { insert_after(ring, i); }
  void push_back(FrameIndex ring, FrameIndex i) const { insert_after(links_[ring].previous, i); }
  void unlink(FrameIndex i) const {
    const Link link = links_[i];
    links_[link.previous].next = link.next;
    links_[link.next].previous = link.previous;
    links_[i] = {i, i};
  }
  void move_to_front(FrameIndex ring, FrameIndex i) const {
    if (front(ring) == i) return;
    unlink(i);
    push_front(ring, i);
  }

  // The last evictable frame of the ring, or no_frame.
  FrameIndex last_evictable(FrameIndex ring, const Candidates& candidates) const {
    for (FrameIndex i = back(ring); i != ring; i = before(i)) {
      if (candidates.evictable(i)) return i;
    }
    return no_frame;
  }

 private:
  Link* links_;
};

}  // namespace forebay
