// A template for a replacement policy: random replacement. Copy it to src/policy/, rename it, and
// add it to the table in src/policy/policies.cpp.
#pragma once

#include "policy/policy.h"

namespace forebay::templates {

class RandomPolicy final : public Policy {
 public:
  // (victim() searches for a resident frame. A real policy links its frames, as in lru.h and
  // links.h.)
  //
  // Only the state lasts, and the processes that map it share it. The object itself stores nothing
  // but the state's place.
  static std::size_t state_bytes(uint32_t frames) { return sizeof(State) + frames; }

  RandomPolicy(void* state, uint32_t frames)
      : state_(static_cast<State*>(state)),
        resident_(reinterpret_cast<bool*>(state_ + 1)),
        frames_(frames) {}

  void reset() override {
    *state_ = {};
    for (FrameIndex i = 0; i < frames_; ++i) resident_[i] = false;
  }
  void hit(FrameIndex, PageKey) override {}
  void insert(FrameIndex frame, PageKey) override { resident_[frame] = true; }
  void replace(FrameIndex victim, PageKey, FrameIndex frame, PageKey) override {
    resident_[victim] = false;
    resident_[frame] = true;
  }
  void remove(FrameIndex frame, PageKey) override { resident_[frame] = false; }
  FrameIndex victim(PageKey, const Candidates& candidates) override {
    state_->random = state_->random * 6364136223846793005u + 1442695040888963407u;
    const auto first = static_cast<FrameIndex>((state_->random >> 33) % frames_);
    for (FrameIndex i = 0; i < frames_; ++i) {
      const FrameIndex frame = (first + i) % frames_;
      if (resident_[frame] && candidates.evictable(frame)) return frame;
    }
    return no_frame;
  }

 private:
  struct State {
    uint64_t random = 1;
  };

  State* state_;
  bool* resident_;
  uint32_t frames_;
};

}  // namespace forebay::templates
