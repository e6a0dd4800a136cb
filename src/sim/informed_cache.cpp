#include "sim/informed_cache.h"

#include <algorithm>

namespace forebay::sim {
namespace {

// How far forecasts reach together, in touches for each frame. What is used again later than that
// has no place in the cache anyway.
constexpr std::size_t foreseen_a_frame = 32;
constexpr std::size_t least_foreseen = 64;
constexpr std::size_t most_foreseen = std::size_t{1} << 22;  // some 100 MB
constexpr std::size_t accesses_a_touch = 16;                 // small accesses stay on their page
// The pace follows the latest touches. A pause is no slower pace.
constexpr double paced_touches = 512;
constexpr double most_paces = 4;
// A page's list is in the order of foreseeing, so its soonest touch is among the first.
constexpr int most_looks = 8;

}  // namespace

InformedCache::InformedCache(uint32_t frames, const Layout& layout)
    : layout_(layout),
      frames_(std::min(frames, layout.pages)),
      state_((InformedPolicy::state_bytes(frames_) + 7) / 8),
      policy_(state_.data(), frames_),
      frame_of_(layout.pages, no_frame),
      page_in_(frames_),
      free_(none),
      first_(layout.pages, none),
      last_(layout.pages, none),
      most_foreseen_(std::clamp(foreseen_a_frame * frames_, least_foreseen, most_foreseen)) {
  policy_.reset();
}

void InformedCache::access(const Piece& piece, std::span<const uint32_t> touches) {
  if (frames_ == 0) {
    misses_ += static_cast<int64_t>(touches.size());
    return;
  }
  Source& source = source_of(piece);
  if (!source.forecast.take({piece.offset, piece.end - piece.offset})) {
    drop(source, source.touches.size());
    source.accesses.clear();
  } else if (!source.accesses.empty()) {
    drop(source, source.accesses.front());
    source.accesses.pop_front();
  }
  for (const uint32_t page : touches) {
    touch(page);
    if (source.touched_at > 0) {
      const auto step = static_cast<double>(policy_.now() - source.touched_at);
      source.paced = std::min(source.paced + 1, paced_touches);
      source.pace += (std::min(step, most_paces * source.pace) - source.pace) / source.paced;
    }
    source.touched_at = policy_.now();
  }
  if (source.accesses.empty()) source.last_page = (piece.end - 1) / layout_.page_bytes;
  look_ahead(source, piece);
}

uint32_t InformedCache::number_of(uint32_t file, int64_t page) const {
  if (layout_.numbers != nullptr) return layout_.numbers->find({uint64_t{file} + 1, page});
  return page < layout_.pages ? static_cast<uint32_t>(page) : no_number;
}

InformedCache::Source& InformedCache::source_of(const Piece& piece) {
  return sources_[uint64_t{piece.file} << 32 | piece.process];
}

void InformedCache::touch(uint32_t page) {
  FrameIndex frame = frame_of_[page];
  if (frame != no_frame) {
    ++hits_;
    policy_.hit(frame, key(page));
  } else {
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
  if (first_[page] != none) inform(page);
}

// Lets the source's forecast reach as far as its share.
void InformedCache::look_ahead(Source& source, const Piece& piece) {
  const std::size_t share =
      most_foreseen_ / std::max<std::size_t>(informing_ + source.touches.empty(), 1);
  Extent next;
  while (source.touches.size() < share && source.accesses.size() < accesses_a_touch * share &&
         source.forecast.foresee(&next)) {
    int64_t page = next.offset / layout_.page_bytes;
    int64_t last = (next.end() - 1) / layout_.page_bytes;
    const std::size_t before = source.touches.size();
    const bool one_page = page == last && page == source.last_page;
    if (one_page || next.length < layout_.least_past) {
      if (page == source.last_page) ++page;
      source.last_page = last;
      // Of an access that is longer than the share, the end is not foreseen.
      last = std::min(last, page + std::min<int64_t>(last - page, static_cast<int64_t>(share)));
      for (; page <= last; ++page) {
        const uint32_t number = number_of(piece.file, page);
        if (number != no_number) foresee(source, number);
      }
    }
    source.accesses.push_back(static_cast<uint32_t>(source.touches.size() - before));
  }
}

void InformedCache::foresee(Source& source, uint32_t page) {
  Index at = free_;
  if (at != none) {
    free_ = foreseen_[at].next;
  } else {
    at = static_cast<Index>(foreseen_.size());
    foreseen_.emplace_back();
  }
  const auto ahead = static_cast<double>(source.touches.size() + 1) * source.pace;
  foreseen_[at] = {policy_.now() + static_cast<uint64_t>(ahead), page, none};
  if (source.touches.empty()) ++informing_;
  source.touches.push_back(at);
  (first_[page] == none ? first_[page] : foreseen_[last_[page]].next) = at;
  last_[page] = at;
  if (frame_of_[page] != no_frame) inform(page);
}

// The source's first foreseen touches take place, or are void.
void InformedCache::drop(Source& source, std::size_t touches) {
  if (touches == 0) return;
  for (; touches > 0; --touches) {
    const Index at = source.touches.front();
    source.touches.pop_front();
    const uint32_t page = foreseen_[at].page;
    Index before = none;
    for (Index i = first_[page]; i != at; i = foreseen_[i].next) before = i;
    (before == none ? first_[page] : foreseen_[before].next) = foreseen_[at].next;
    if (last_[page] == at) last_[page] = before;
    foreseen_[at].next = free_;
    free_ = at;
    if (frame_of_[page] != no_frame) inform(page);
  }
  if (source.touches.empty()) --informing_;
}

// Tells the policy when the resident page is accessed next.
void InformedCache::inform(uint32_t page) {
  const FrameIndex frame = frame_of_[page];
  if (first_[page] == none) return policy_.forget(frame);
  uint64_t soonest = foreseen_[first_[page]].when;
  int looks = most_looks;
  for (Index i = first_[page]; i != none && looks > 0; i = foreseen_[i].next, --looks)
    soonest = std::min(soonest, foreseen_[i].when);
  policy_.foresee(frame, soonest);
}

}  // namespace forebay::sim
