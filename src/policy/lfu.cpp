#include "policy/lfu.h"

namespace forebay {

std::size_t LfuPolicy::state_bytes(uint32_t frames) {
  const std::size_t n = frames;
  return sizeof(State) + n * sizeof(Class) + 2 * n * sizeof(Link) + (n + 1) * sizeof(Link) +
         n * sizeof(ClassIndex);
}

std::unique_ptr<Policy> LfuPolicy::attach(void* state, uint32_t frames) {
  return std::make_unique<LfuPolicy>(state, frames);
}

LfuPolicy::LfuPolicy(void* state, uint32_t frames)
    : frames_(frames),
      state_(static_cast<State*>(state)),
      classes_(reinterpret_cast<Class*>(state_ + 1)),
      links_(reinterpret_cast<Link*>(classes_ + frames)),
      class_links_(reinterpret_cast<Link*>(classes_ + frames) + 2 * std::size_t{frames}),
      class_of_(reinterpret_cast<ClassIndex*>(reinterpret_cast<Link*>(classes_ + frames) +
                                              3 * std::size_t{frames} + 1)) {}

void LfuPolicy::reset() {
  links_.reset(2 * frames_);
  class_links_.reset(frames_ + 1);
  for (ClassIndex c = 0; c < frames_; ++c) classes_[c] = {0, c + 1, 0};
  state_->first_free = 0;
}

// There is one to be had: whoever asks has a frame that is in no class.
LfuPolicy::ClassIndex LfuPolicy::new_class(ClassIndex after, uint64_t accesses) {
  const ClassIndex c = state_->first_free;
  state_->first_free = classes_[c].next_free;
  classes_[c].accesses = accesses;
  class_links_.insert_after(after, c);
  return c;
}

void LfuPolicy::leave(FrameIndex frame) {
  const ClassIndex c = class_of_[frame];
  links_.unlink(frame);
  if (!links_.empty(ring_of(c))) return;
  class_links_.unlink(c);
  classes_[c].next_free = state_->first_free;
  state_->first_free = c;
}

void LfuPolicy::hit(FrameIndex frame, PageKey) {
  const ClassIndex c = class_of_[frame];
  const uint64_t accesses = classes_[c].accesses + 1;
  ClassIndex next = class_links_.after(c);
  const bool exists = next != class_ring() && classes_[next].accesses == accesses;
  if (!exists && links_.front(ring_of(c)) == links_.back(ring_of(c))) {  // it is alone
    classes_[c].accesses = accesses;
    return;
  }
  if (exists) {
    leave(frame);
  } else {
    links_.unlink(frame);
    next = new_class(c, accesses);
  }
  links_.push_back(ring_of(next), frame);
  class_of_[frame] = next;
}

void LfuPolicy::insert(FrameIndex frame, PageKey) {
  ClassIndex first = class_links_.front(class_ring());
  if (first == class_ring() || classes_[first].accesses != 1) first = new_class(class_ring(), 1);
  links_.push_back(ring_of(first), frame);
  class_of_[frame] = first;
}

void LfuPolicy::replace(FrameIndex frame, PageKey, PageKey key) {
  leave(frame);
  insert(frame, key);
}

void LfuPolicy::remove(FrameIndex frame, PageKey) { leave(frame); }

FrameIndex LfuPolicy::victim(PageKey, const Candidates& candidates) {
  for (ClassIndex c = class_links_.front(class_ring()); c != class_ring();
       c = class_links_.after(c)) {
    const FrameIndex ring = ring_of(c);
    for (FrameIndex i = links_.front(ring); i != ring; i = links_.after(i)) {
      if (candidates.evictable(i)) return i;
    }
  }
  return no_frame;
}

}  // namespace forebay
