#include "sim/numbered_cache.h"

#include <algorithm>

namespace forebay::sim {
namespace {

// How many touches ahead of the current one frame_of_ and the frame's state are prefetched.
constexpr std::size_t place_ahead = 24;
constexpr std::size_t page_ahead = 12;

}  // namespace

NumberedCache::NumberedCache(const PolicySpec& policy, uint32_t frames, uint32_t pages)
    // Frames beyond the pages stay empty.
    : frames_(std::min(frames, pages)) {
  if (frames_ == 0) return;
  state_.resize((policy.state_bytes(frames_) + 7) / 8);
  policy_ = policy.attach(state_.data(), frames_);
  policy_->reset();
  frame_of_.assign(pages, no_frame);
  page_in_.resize(frames_);
}

void NumberedCache::prefetch(std::span<const uint32_t> touches, std::size_t i) const {
  if (i + place_ahead < touches.size()) __builtin_prefetch(&frame_of_[touches[i + place_ahead]]);
  if (i + page_ahead >= touches.size()) return;
  const uint32_t page = touches[i + page_ahead];
  if (frame_of_[page] != no_frame)
    policy_->prefetch(frame_of_[page]);
  else
    policy_->prefetch_missing(key(page));
}

void NumberedCache::access(std::span<const uint32_t> touches) {
  if (frames_ == 0) {
    misses_ += static_cast<int64_t>(touches.size());
    return;
  }
  for (std::size_t i = 0; i < touches.size(); ++i) {
    prefetch(touches, i);
    const uint32_t page = touches[i];
    const FrameIndex frame = frame_of_[page];
    if (frame == no_frame) {
      miss(page);
    } else {
      ++hits_;
      policy_->hit(frame, key(page));
    }
  }
}

void NumberedCache::miss(uint32_t page) {
  ++misses_;
  FrameIndex frame = used_;
  if (used_ < frames_) {
    ++used_;
    policy_->insert(frame, key(page));
  } else {
    ++evictions_;
    frame = policy_->victim(key(page), *this);
    policy_->replace(frame, key(page_in_[frame]), frame, key(page));
    frame_of_[page_in_[frame]] = no_frame;
  }
  frame_of_[page] = frame;
  page_in_[frame] = page;
}

}  // namespace forebay::sim
