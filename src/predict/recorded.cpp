#include "predict/recorded.h"

#include <algorithm>
#include <utility>

namespace forebay {

RecordedPredictor::RecordedPredictor(std::shared_ptr<const pattern::Signature> reads,
                                     std::unique_ptr<Predictor> otherwise,
                                     int64_t largest_window_bytes, int64_t join_bytes)
    : reads_(std::move(reads)),
      cursor_(*reads_),
      otherwise_(std::move(otherwise)),
      window_(largest_window_bytes),
      fetch_(join_bytes) {}

std::span<const Extent> RecordedPredictor::access(Extent access) {
  if (find(access)) return look_ahead(access);
  if (follows_) lose_place();
  return otherwise_->access(access);
}

void RecordedPredictor::rested(int64_t accesses, int64_t bytes) {
  if (follows_) return;
  lost_for_ += accesses;
  looks_again_in_ = std::max<int64_t>(looks_again_in_ - accesses, 0);
  otherwise_->rested(accesses, bytes);
}

// Whether the access is one of the next recorded reads; those before it are passed over then.
bool RecordedPredictor::find(Extent access) {
  constexpr int64_t longest_pause = 64;
  if (!follows_) {
    ++lost_for_;
    if (looks_again_in_-- > 0) return false;
  }
  const auto near = std::min(nearest + static_cast<std::size_t>(lost_for_), farthest);
  std::size_t index = 0;
  while (index < near && has_next(index) && next_[index].read != access) ++index;
  if (index == near || !has_next(index)) {
    pause_ = std::min(2 * pause_ + 1, longest_pause);
    looks_again_in_ = pause_;
    return false;
  }
  for (std::size_t passed = 0; passed <= index; ++passed) {
    if (fetched_ > 0) {
      --fetched_;
      window_.used(next_.front().cost_bytes);
    }
    next_.pop_front();
  }
  follows_ = true;
  lost_for_ = looks_again_in_ = pause_ = 0;
  return true;
}

bool RecordedPredictor::has_next(std::size_t index) {
  pattern::Access read;
  while (next_.size() <= index && cursor_.next(read)) next_.push_back({{read.offset, read.size}});
  return index < next_.size();
}

void RecordedPredictor::lose_place() {
  follows_ = false;
  fetched_ = 0;
  window_.close();
}

std::span<const Extent> RecordedPredictor::look_ahead(Extent access) {
  fetch_.clear();
  Extent last = fetched_ > 0 ? next_[fetched_ - 1].read : access;
  int64_t wanted = window_.wanted(first_window_accesses * access.length);
  while (wanted > 0 && fetched_ < most_ahead && has_next(fetched_)) {
    Next& next = next_[fetched_++];
    next.cost_bytes = fetch_.cost_bytes(last, next.read);
    fetch_.add(next.read);
    window_.issued(next.cost_bytes);
    wanted -= next.cost_bytes;
    last = next.read;
  }
  return fetch_.sorted();
}

}  // namespace forebay
