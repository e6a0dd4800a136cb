// SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi: NSDI 2024): frames in order of arrival, and a hand
// that moves from the oldest to the newest. The hand passes frames that were accessed since it last
// came by; the first frame that was not is the victim.
#pragma once

#include "policy/links.h"

namespace forebay {

class SievePolicy final : public Policy {
 public:
  static std::size_t state_bytes(uint32_t frames);

  SievePolicy(void* state, uint32_t frames);

  void reset() override;
  void hit(FrameIndex frame, PageKey) override { visited_[frame] = 1; }
  void insert(FrameIndex frame, PageKey key) override;
  void replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) override;
  void prefetch(FrameIndex frame) override { __builtin_prefetch(&visited_[frame]); }
  void remove(FrameIndex frame, PageKey key) override;
  FrameIndex victim(PageKey incoming, const Candidates& candidates) override;

 private:
  struct State {
    FrameIndex hand;  // the ring itself: start at the oldest frame
    uint32_t padding;
  };

  FrameIndex ring_;  // newest first
  State* state_;
  Links links_;
  uint8_t* visited_;
};

}  // namespace forebay
