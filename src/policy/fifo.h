// First in, first out: frames by the arrival of their pages. Accesses change nothing.
#pragma once

#include "policy/links.h"

namespace forebay {

class FifoPolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames) { return Links::state_bytes(frames, 1); }

  FifoPolicy(void* state, uint32_t frames) : links_(static_cast<Link*>(state)), ring_(frames) {}

  void reset() override { links_.reset(ring_ + 1); }
  void hit(FrameIndex, PageKey) override {}
  void insert(FrameIndex frame, PageKey) override { links_.push_front(ring_, frame); }
  void replace(FrameIndex victim, PageKey, FrameIndex frame, PageKey) override {
    links_.unlink(victim);
    links_.push_front(ring_, frame);
  }
  void remove(FrameIndex frame, PageKey) override { links_.unlink(frame); }
  FrameIndex victim(PageKey, const Candidates& candidates) override {
    return links_.last_evictable(ring_, candidates);
  }

 private:
  Links links_;
  FrameIndex ring_;  // last come first
};

}  // namespace forebay
