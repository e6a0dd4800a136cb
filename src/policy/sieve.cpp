#include "policy/sieve.h"

namespace forebay {

std::size_t SievePolicy::state_bytes(uint32_t frames) {
  return sizeof(State) + Links::state_bytes(frames, 1) + frames;
}

SievePolicy::SievePolicy(void* state, uint32_t frames)
    : ring_(frames),
      state_(static_cast<State*>(state)),
      links_(reinterpret_cast<Link*>(state_ + 1)),
      visited_(reinterpret_cast<uint8_t*>(reinterpret_cast<Link*>(state_ + 1) + frames + 1)) {}

void SievePolicy::reset() {
  links_.reset(ring_ + 1);
  state_->hand = ring_;
}

void SievePolicy::insert(FrameIndex frame, PageKey) {
  visited_[frame] = 0;
  links_.push_front(ring_, frame);
}

void SievePolicy::replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) {
  remove(victim, old);
  insert(frame, key);
}

void SievePolicy::remove(FrameIndex frame, PageKey) {
  if (state_->hand == frame) state_->hand = links_.before(frame);
  links_.unlink(frame);
}

FrameIndex SievePolicy::victim(PageKey, const Candidates& candidates) {
  // The first round may only clear the marks of evictable frames.
  for (int rounds = 0; rounds < 3; ++rounds) {
    if (state_->hand == ring_) state_->hand = links_.back(ring_);
    for (; state_->hand != ring_; state_->hand = links_.before(state_->hand)) {
      const FrameIndex frame = state_->hand;
      if (!candidates.evictable(frame)) continue;
      if (visited_[frame] == 0) return frame;
      visited_[frame] = 0;
    }
  }
  return no_frame;
}

}  // namespace forebay
