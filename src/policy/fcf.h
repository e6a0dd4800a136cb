// Fastest commit first (Settlemyer 7.4.1). Among the frames unused for the longest time, the victim
// is the one whose page is cheapest to commit: a clean page, otherwise the dirty page whose commit
// makes the most pages clean per request. If a driver commits neighbours of a victim with it, these
// become the next victims.
#pragma once

#include "policy/links.h"

namespace forebay {

class FcfPolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames) { return Links::state_bytes(frames, 1); }

  FcfPolicy(void* state, uint32_t frames);

  void reset() override { links_.reset(ring_ + 1); }
  void hit(FrameIndex frame, PageKey) override { links_.move_to_front(ring_, frame); }
  void insert(FrameIndex frame, PageKey) override { links_.push_front(ring_, frame); }
  void replace(FrameIndex victim, PageKey, FrameIndex frame, PageKey) override {
    links_.unlink(victim);
    links_.push_front(ring_, frame);
  }
  void remove(FrameIndex frame, PageKey) override { links_.unlink(frame); }
  FrameIndex victim(PageKey incoming, const Candidates& candidates) override;

 private:
  Links links_;
  FrameIndex ring_;  // most recent first
  uint32_t candidates_;
};

}  // namespace forebay
