#include "sim/informed_cache.h"

#include <algorithm>

namespace forebay::sim {

// What a foresight tells of a file's pages, told to the policy.
struct InformedCache::Future {
  InformedCache& cache;
  uint32_t file;

  ShardClock clock(int64_t) const { return {0, cache.policy_.now()}; }
  uint64_t foresee(int64_t page, double ahead) const {
    const uint32_t number = cache.number_of(file, page);
    if (number == no_number) return 0;
    const uint64_t when = cache.policy_.now() + std::max<uint64_t>(static_cast<uint64_t>(ahead), 1);
    cache.policy_.foresee(key(number), cache.frame_of_[number], when);
    return when;
  }
  void forget(int64_t page, uint64_t when) const {
    const uint32_t number = cache.number_of(file, page);
    cache.policy_.forget(key(number), cache.frame_of_[number], when);
  }
};

InformedCache::InformedCache(uint32_t frames, const Layout& layout)
    : layout_(layout),
      frames_(std::min(frames, layout.pages)),
      state_((InformedPolicy::state_bytes(frames_) + 7) / 8),
      policy_(state_.data(), frames_),
      frame_of_(layout.pages, no_frame),
      page_in_(frames_) {
  policy_.reset();
}

void InformedCache::access(const Piece& piece, std::span<const uint32_t> touches) {
  if (frames_ == 0) {
    misses_ += static_cast<int64_t>(touches.size());
    return;
  }
  for (const uint32_t page : touches) touch(page);
  const auto handle = handles_.try_emplace(uint64_t{piece.file} << 32 | piece.process,
                                           layout_.page_bytes, layout_.least_past);
  const std::size_t all = std::size_t{Policy::foreseen_a_frame} * frames_;
  handle.first->second.take({piece.offset, piece.end - piece.offset},
                            std::max<std::size_t>(all / handles_.size(), 1),
                            Future{*this, piece.file});
}

uint32_t InformedCache::number_of(uint32_t file, int64_t page) const {
  if (layout_.numbers != nullptr) return layout_.numbers->find({uint64_t{file} + 1, page});
  return page >= 0 && page < layout_.pages ? static_cast<uint32_t>(page) : no_number;
}

void InformedCache::touch(uint32_t page) {
  FrameIndex frame = frame_of_[page];
  if (frame != no_frame) {
    ++hits_;
    policy_.hit(frame, key(page));
    return;
  }
  ++misses_;
  if (used_ < frames_) {
    frame = used_++;
    policy_.insert(frame, key(page));
  } else {
    ++evictions_;
    frame = policy_.victim(key(page), *this);
    policy_.replace(frame, key(page_in_[frame]), frame, key(page));
    frame_of_[page_in_[frame]] = no_frame;
  }
  frame_of_[page] = frame;
  page_in_[frame] = page;
}

}  // namespace forebay::sim
