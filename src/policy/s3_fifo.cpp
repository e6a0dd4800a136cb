#include "policy/s3_fifo.h"

#include <algorithm>

namespace forebay {
namespace {

constexpr uint8_t accesses_to_move = 2;
constexpr uint8_t most_accesses = 3;

}  // namespace

std::size_t S3FifoPolicy::state_bytes(uint32_t frames) {
  return sizeof(State) + Links::state_bytes(frames, 2) +
         Ghosts::state_bytes(ghosts_for(frames), 1) + std::size_t{frames} * sizeof(Page);
}

S3FifoPolicy::S3FifoPolicy(void* state, uint32_t frames)
    : frames_(frames),
      state_(static_cast<State*>(state)),
      links_(reinterpret_cast<Link*>(state_ + 1)),
      ghosts_(reinterpret_cast<Link*>(state_ + 1) + frames + 2, ghosts_for(frames), 1),
      pages_(reinterpret_cast<Page*>(
          reinterpret_cast<std::byte*>(reinterpret_cast<Link*>(state_ + 1) + frames + 2) +
          Ghosts::state_bytes(ghosts_for(frames), 1))) {}

void S3FifoPolicy::reset() {
  *state_ = {};
  state_->chosen = no_frame;
  links_.reset(frames_ + 2);
  ghosts_.reset();
}

void S3FifoPolicy::push(Queue queue, FrameIndex frame, uint8_t accesses) {
  links_.push_front(ring_of(queue), frame);
  pages_[frame] = {queue, accesses};
  ++state_->size[queue];
}

void S3FifoPolicy::unlink(FrameIndex frame) {
  links_.unlink(frame);
  --state_->size[pages_[frame].queue];
}

void S3FifoPolicy::hit(FrameIndex frame, PageKey) {
  uint8_t& accesses = pages_[frame].accesses;
  accesses = std::min<uint8_t>(accesses + 1, most_accesses);
  if (state_->chosen == frame) state_->chosen = no_frame;
}

// Until the first eviction, pages for which the small queue has no room go to the main queue.
void S3FifoPolicy::insert(FrameIndex frame, PageKey key) {
  const Ghosts::GhostIndex ghost = ghosts_.find(key);
  if (ghost != Ghosts::none) ghosts_.remove(ghost);
  const bool to_main = ghost != Ghosts::none ||
                       (state_->has_evicted == 0 && state_->size[small] >= small_frames(frames_));
  push(to_main ? main : small, frame, 0);
}

void S3FifoPolicy::replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) {
  state_->has_evicted = 1;
  state_->chosen = no_frame;
  const Ghosts::GhostIndex ghost = ghosts_.find(key);
  if (ghost != Ghosts::none) ghosts_.remove(ghost);
  if (pages_[victim].queue == small && ghosts_for(frames_) > 0) {
    if (ghosts_.full()) ghosts_.remove_oldest(0);
    ghosts_.add(0, old);
  }
  unlink(victim);
  push(ghost != Ghosts::none ? main : small, frame, 0);
}

void S3FifoPolicy::remove(FrameIndex frame, PageKey) {
  if (state_->chosen == frame) state_->chosen = no_frame;
  unlink(frame);
}

FrameIndex S3FifoPolicy::end_of_small(const Candidates& candidates) {
  const FrameIndex ring = ring_of(small);
  for (FrameIndex i = links_.back(ring); i != ring;) {
    const FrameIndex frame = i;
    i = links_.before(i);
    if (!candidates.evictable(frame)) continue;
    if (pages_[frame].accesses < accesses_to_move) return frame;
    unlink(frame);
    push(main, frame, 0);
  }
  return no_frame;
}

FrameIndex S3FifoPolicy::end_of_main(const Candidates& candidates) {
  const FrameIndex ring = ring_of(main);
  for (int rounds = 0; rounds <= most_accesses; ++rounds) {
    FrameIndex i = links_.back(ring);
    for (uint32_t left = state_->size[main]; left > 0; --left) {
      const FrameIndex frame = i;
      i = links_.before(i);
      if (!candidates.evictable(frame)) continue;
      if (pages_[frame].accesses == 0) return frame;
      --pages_[frame].accesses;
      links_.move_to_front(ring, frame);
    }
  }
  return no_frame;
}

FrameIndex S3FifoPolicy::victim(PageKey, const Candidates& candidates) {
  FrameIndex& chosen = state_->chosen;
  if (chosen != no_frame && candidates.evictable(chosen)) return chosen;
  const bool main_is_long = state_->size[main] > frames_ - small_frames(frames_);
  if (!main_is_long) chosen = end_of_small(candidates);
  if (main_is_long || chosen == no_frame) chosen = end_of_main(candidates);
  if (main_is_long && chosen == no_frame) chosen = end_of_small(candidates);
  return chosen;
}

}  // namespace forebay
