#include "policy/lru.h"

namespace forebay {

std::size_t LruPolicy::state_bytes(uint32_t frames) {
  return (static_cast<std::size_t>(frames) + 1) * sizeof(Link);
}

std::unique_ptr<Policy> LruPolicy::attach(void* state, uint32_t frames) {
  return std::make_unique<LruPolicy>(state, frames);
}

void LruPolicy::reset() {
  for (FrameIndex i = 0; i <= frames_; ++i) links_[i] = {i, i};
}

void LruPolicy::hit(FrameIndex frame, PageKey) {
  if (links_[frames_].next == frame) return;
  unlink(frame);
  push_front(frame);
}

void LruPolicy::insert(FrameIndex frame, PageKey) { push_front(frame); }

void LruPolicy::remove(FrameIndex frame, PageKey) { unlink(frame); }

FrameIndex LruPolicy::victim(PageKey, const std::function<bool(FrameIndex)>& evictable) {
  for (FrameIndex i = links_[frames_].previous; i != frames_; i = links_[i].previous) {
    if (evictable(i)) return i;
  }
  return no_frame;
}

void LruPolicy::evicted(FrameIndex frame, PageKey) { unlink(frame); }

void LruPolicy::unlink(FrameIndex frame) {
  Link& link = links_[frame];
  links_[link.previous].next = link.next;
  links_[link.next].previous = link.previous;
  link = {frame, frame};
}

void LruPolicy::push_front(FrameIndex frame) {
  const FrameIndex first = links_[frames_].next;
  links_[frame] = {frames_, first};
  links_[first].previous = frame;
  links_[frames_].next = frame;
}

}  // namespace forebay
