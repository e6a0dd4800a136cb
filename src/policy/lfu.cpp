#include "policy/lfu.h"

namespace forebay {

std::size_t LfuPolicy::state_bytes(uint32_t frames) {
  const std::size_t n = frames;
  return sizeof(State) + n * sizeof(Class) + Links::state_bytes(frames, 1) + n * sizeof(ClassIndex);
}

LfuPolicy::LfuPolicy(void* state, uint32_t frames)
    : ring_(frames),
      state_(static_cast<State*>(state)),
      classes_(reinterpret_cast<Class*>(state_ + 1)),
      links_(reinterpret_cast<Link*>(classes_ + frames)),
      class_of_(
          reinterpret_cast<ClassIndex*>(reinterpret_cast<Link*>(classes_ + frames) + frames + 1)) {}

void LfuPolicy::reset() {
  links_.reset(ring_ + 1);
  for (ClassIndex c = 0; c < ring_; ++c) classes_[c] = {0, c + 1, 0};
  state_->first_free = 0;
}

// There is a free class, because the frame is in none.
void LfuPolicy::begin_class(FrameIndex frame, FrameIndex after, uint64_t accesses) {
  const ClassIndex c = state_->first_free;
  state_->first_free = classes_[c].first;
  classes_[c] = {accesses, frame, frame};
  class_of_[frame] = c;
  links_.insert_after(after, frame);
}

void LfuPolicy::join_class(FrameIndex frame, ClassIndex joined) {
  links_.insert_after(classes_[joined].last, frame);
  classes_[joined].last = frame;
  class_of_[frame] = joined;
}

void LfuPolicy::leave(FrameIndex frame) {
  const ClassIndex c = class_of_[frame];
  Class& left = classes_[c];
  if (alone(left)) {
    left.first = state_->first_free;
    state_->first_free = c;
  } else if (left.first == frame) {
    left.first = links_.after(frame);
  } else if (left.last == frame) {
    left.last = links_.before(frame);
  }
  links_.unlink(frame);
}

void LfuPolicy::hit(FrameIndex frame, PageKey) {
  const ClassIndex c = class_of_[frame];
  const uint64_t accesses = classes_[c].accesses + 1;
  const FrameIndex next = links_.after(classes_[c].last);
  if (has(next, accesses)) {
    leave(frame);
    join_class(frame, class_of_[next]);
  } else if (alone(classes_[c])) {
    classes_[c].accesses = accesses;
  } else {
    leave(frame);
    begin_class(frame, classes_[c].last, accesses);
  }
}

void LfuPolicy::insert(FrameIndex frame, PageKey) {
  const FrameIndex first = links_.front(ring_);
  if (has(first, 1)) {
    join_class(frame, class_of_[first]);
  } else {
    begin_class(frame, ring_, 1);
  }
}

void LfuPolicy::replace(FrameIndex victim, PageKey, FrameIndex frame, PageKey key) {
  leave(victim);
  insert(frame, key);
}

void LfuPolicy::remove(FrameIndex frame, PageKey) { leave(frame); }

FrameIndex LfuPolicy::victim(PageKey, const Candidates& candidates) {
  for (FrameIndex i = links_.front(ring_); i != ring_; i = links_.after(i)) {
    if (candidates.evictable(i)) return i;
  }
  return no_frame;
}

}  // namespace forebay
