// Least recently used: frames by last access.
#pragma once

#include "policy/links.h"

namespace forebay {

class LruPolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames) { return Links::state_bytes(frames, 1); }

  LruPolicy(void* state, uint32_t frames) : links_(static_cast<Link*>(state)), ring_(frames) {}

  void reset() override { links_.reset(ring_ + 1); }
  void hit(FrameIndex frame, PageKey) override { links_.move_to_front(ring_, frame); }
  void insert(FrameIndex frame, PageKey) override { links_.push_front(ring_, frame); }
  void replace(FrameIndex victim, PageKey, FrameIndex frame, PageKey) override {
    links_.unlink(victim);
    links_.push_front(ring_, frame);
  }
  void prefetch(FrameIndex frame) override { links_.prefetch(frame); }
  void remove(FrameIndex frame, PageKey) override { links_.unlink(frame); }
  FrameIndex victim(PageKey, const Candidates& candidates) override {
    return links_.last_evictable(ring_, candidates);
  }

 private:
  Links links_;
  FrameIndex ring_;  // most recent first
};

}  // namespace forebay
