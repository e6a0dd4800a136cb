// Least recently used: a doubly linked list of frames by last access, most recent at the head.
#pragma once

#include "policy/policy.h"

namespace forebay {

class LruPolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames);
  static std::unique_ptr<Policy> attach(void* state, uint32_t frames);

  LruPolicy(void* state, uint32_t frames) : links_(static_cast<Link*>(state)), frames_(frames) {}

  void reset() override;
  void hit(FrameIndex frame, PageKey key) override;
  void insert(FrameIndex frame, PageKey key) override;
  void remove(FrameIndex frame, PageKey key) override;
  FrameIndex victim(PageKey incoming, const std::function<bool(FrameIndex)>& evictable) override;
  void evicted(FrameIndex frame, PageKey key) override;

 private:
  // One a frame, and one more that closes the ring: its `next` is the most recent frame, its
  // `previous` the least recent one. A frame that is not resident links to itself.
  struct Link {
    FrameIndex previous;
    FrameIndex next;
  };

  void unlink(FrameIndex frame);
  void push_front(FrameIndex frame);

  Link* links_;
  uint32_t frames_;  // also the index of the ring's head
};

}  // namespace forebay
