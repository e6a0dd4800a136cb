#include "policy/arc.h"

#include <algorithm>

namespace forebay {

std::size_t ArcPolicy::state_bytes(uint32_t frames) {
  return sizeof(State) + Links::state_bytes(frames, 2) + Ghosts::state_bytes(frames + 1, 2) +
         frames;
}

ArcPolicy::ArcPolicy(void* state, uint32_t frames)
    : frames_(frames),
      state_(static_cast<State*>(state)),
      links_(reinterpret_cast<Link*>(state_ + 1)),
      ghosts_(reinterpret_cast<Link*>(state_ + 1) + frames + 2, frames + 1, 2),
      list_of_(reinterpret_cast<uint8_t*>(reinterpret_cast<Link*>(state_ + 1) + frames + 2) +
               Ghosts::state_bytes(frames + 1, 2)) {}

void ArcPolicy::reset() {
  *state_ = {};
  links_.reset(frames_ + 2);
  ghosts_.reset();
}

void ArcPolicy::push(List list, FrameIndex frame) {
  links_.push_front(ring_of(list), frame);
  list_of_[frame] = list;
  ++state_->size[list];
}

void ArcPolicy::unlink(FrameIndex frame) {
  links_.unlink(frame);
  --state_->size[list_of_[frame]];
}

void ArcPolicy::hit(FrameIndex frame, PageKey) {
  unlink(frame);
  push(often, frame);
}

double ArcPolicy::adapted(Ghosts::GhostIndex ghost) const {
  const double b1 = ghosts_.size(once);
  const double b2 = ghosts_.size(often);
  if (ghosts_.list_of(ghost) == once)
    return std::min(state_->target + std::max(b2 / b1, 1.0), static_cast<double>(frames_));
  return std::max(state_->target - std::max(b1 / b2, 1.0), 0.0);
}

FrameIndex ArcPolicy::victim(PageKey incoming, const Candidates& candidates) {
  const Ghosts::GhostIndex ghost = ghosts_.find(incoming);
  const double target = ghost == Ghosts::none ? state_->target : adapted(ghost);
  const bool came_back_often = ghost != Ghosts::none && ghosts_.list_of(ghost) == often;
  const double size = state_->size[once];
  const bool from_once = size > target || (size == target && came_back_often) ||
                         state_->size[once] == frames_ || state_->size[often] == 0;
  const List preferred = from_once && state_->size[once] > 0 ? once : often;
  const FrameIndex frame = links_.last_evictable(ring_of(preferred), candidates);
  if (frame != no_frame) return frame;
  return links_.last_evictable(ring_of(preferred == once ? often : once), candidates);
}

ArcPolicy::List ArcPolicy::welcome(PageKey key) {
  const Ghosts::GhostIndex ghost = ghosts_.find(key);
  if (ghost == Ghosts::none) return once;
  state_->target = adapted(ghost);
  ghosts_.remove(ghost);
  return often;
}

// Makes room for a page that was no ghost. T1 and B1 together have at most as many pages as there
// are frames, all four lists at most twice as many.
void ArcPolicy::limit_ghosts() {
  const uint32_t seen_once = state_->size[once] + ghosts_.size(once);
  const uint32_t seen_often = state_->size[often] + ghosts_.size(often);
  if (seen_once >= frames_) {
    if (ghosts_.size(once) > 0) ghosts_.remove_oldest(once);
  } else if (seen_once + seen_often >= 2 * frames_) {
    if (ghosts_.size(often) > 0) ghosts_.remove_oldest(often);
  }
}

void ArcPolicy::insert(FrameIndex frame, PageKey key) {
  const List list = welcome(key);
  if (list == once) limit_ghosts();
  push(list, frame);
}

void ArcPolicy::replace(FrameIndex victim, PageKey old, FrameIndex frame, PageKey key) {
  const List list = welcome(key);
  const auto left = static_cast<List>(list_of_[victim]);
  unlink(victim);
  if (ghosts_.full()) ghosts_.remove_oldest(ghosts_.size(once) > 0 ? once : often);
  ghosts_.add(left, old);
  if (list == once) limit_ghosts();
  push(list, frame);
}

}  // namespace forebay
