#include "sim/stream.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/belady.h"
#include "sim/informed_cache.h"
#include "sim/numbered_cache.h"
#include "sim/page_numbers.h"

namespace forebay::sim {
namespace {

// Differs from the hash of the policies' tables.
uint32_t mark_of(PageKey key) {
  return static_cast<uint32_t>(mix(hash_of(key) + 0x9e3779b97f4a7c15ull) >> 32);
}

template <typename T>
std::span<const T> part_of(const std::vector<T>& all, const std::vector<std::size_t>& ends,
                           std::size_t number) {
  const std::size_t begin = number == 0 ? 0 : ends[number - 1];
  return std::span(all).subspan(begin, ends[number] - begin);
}

Shown shown_to_one_cache(std::vector<PageKey> keys) {
  Shown shown;
  shown.ends = {keys.size()};
  shown.accesses = {keys.size()};
  shown.keys = std::move(keys);
  return shown;
}

}  // namespace

Stream::Stream(Shown shown)
    : touch_ends_(std::move(shown.ends)),
      accesses_(std::move(shown.accesses)),
      past_accesses_(shown.past_accesses),
      past_bytes_(shown.past_bytes),
      has_order_(shown.has_pieces),
      pieces_(std::move(shown.pieces)),
      piece_ends_(std::move(shown.piece_ends)),
      page_bytes_(shown.page_bytes),
      least_past_(std::move(shown.least_past)) {
  touches_.reserve(shown.keys.size());
  std::size_t begin = 0;
  for (const std::size_t end : touch_ends_) {
    PageNumbers numbers;
    for (; begin < end; ++begin) {
      const uint32_t known = numbers.count();
      touches_.push_back(numbers.of(shown.keys[begin]));
      if (touches_.back() == known) marks_.push_back(mark_of(shown.keys[begin]));
    }
    mark_ends_.push_back(marks_.size());
    if (has_order_) numbers_.push_back(std::move(numbers));
  }
}

Stream::Stream(std::vector<PageKey> keys) : Stream(shown_to_one_cache(std::move(keys))) {
  has_order_ = true;
}

Stream::Cache Stream::cache(std::size_t number) const {
  Cache cache{part_of(touches_, touch_ends_, number),
              part_of(marks_, mark_ends_, number),
              {},
              nullptr,
              1,
              Caches::never};
  if (numbers_.empty()) return cache;
  cache.pieces = part_of(pieces_, piece_ends_, number);
  cache.numbers = &numbers_[number];
  cache.page_bytes = page_bytes_;
  cache.least_past = least_past_[number];
  return cache;
}

Stream Stream::sampled(uint64_t low, uint64_t high) const {
  constexpr uint32_t left_out = std::numeric_limits<uint32_t>::max();
  Stream sample;
  std::vector<uint32_t> number_of;
  for (std::size_t c = 0; c < caches(); ++c) {
    const Cache all = cache(c);
    number_of.assign(all.pages(), left_out);
    uint32_t pages = 0;
    for (uint32_t page = 0; page < all.pages(); ++page) {
      if (all.marks[page] < low || all.marks[page] >= high) continue;
      number_of[page] = pages++;
      sample.marks_.push_back(all.marks[page]);
    }
    for (const uint32_t page : all.touches) {
      if (number_of[page] != left_out) sample.touches_.push_back(number_of[page]);
    }
    sample.touch_ends_.push_back(sample.touches_.size());
    sample.mark_ends_.push_back(sample.marks_.size());
  }
  return sample;
}

CacheCounts simulate(const Stream& stream, const PolicySpec& policy,
                     std::span<const uint32_t> frames, Progress& progress) {
  CacheCounts sum;
  for (std::size_t c = 0; c < stream.caches(); ++c) {
    const Stream::Cache shown = stream.cache(c);
    if (frames[c] >= shown.pages()) {  // no page is ever evicted
      sum.hits += static_cast<int64_t>(shown.touches.size() - shown.pages());
      sum.misses += shown.pages();
      progress.add(shown.touches.size());
      continue;
    }
    NumberedCache cache(policy, frames[c], shown.pages());
    for (std::span<const uint32_t> rest = shown.touches; !rest.empty();) {
      const auto next = rest.first(std::min<std::size_t>(rest.size(), Progress::step));
      cache.access(next);
      progress.add(next.size());
      rest = rest.subspan(next.size());
    }
    sum.hits += cache.hits();
    sum.misses += cache.misses();
    sum.evictions += cache.evictions();
  }
  return sum;
}

CacheCounts simulate_informed(const Stream& stream, std::span<const uint32_t> frames,
                              Progress& progress) {
  CacheCounts sum;
  for (std::size_t c = 0; c < stream.caches(); ++c) {
    const Stream::Cache shown = stream.cache(c);
    InformedCache cache(frames[c],
                        {shown.pages(), shown.numbers, shown.page_bytes, shown.least_past});
    uint64_t done = 0;
    const auto access = [&](const Piece& piece, std::span<const uint32_t> touches) {
      cache.access(piece, touches);
      if ((done += touches.size()) < Progress::step) return;
      progress.add(done);
      done = 0;
    };
    if (shown.numbers == nullptr) {
      // Block ids have no places. Their order is that of their first touches.
      for (const uint32_t& page : shown.touches)
        access({0, 0, page, int64_t{page} + 1, 1}, std::span(&page, 1));
    } else {
      std::span<const uint32_t> rest = shown.touches;
      for (const Piece& piece : shown.pieces) {
        access(piece, rest.first(piece.touches));
        rest = rest.subspan(piece.touches);
      }
    }
    progress.add(done);
    sum.hits += cache.hits();
    sum.misses += cache.misses();
    sum.evictions += cache.evictions();
  }
  return sum;
}

CacheCounts simulate_min(const Stream& stream, std::span<const uint32_t> frames,
                         Progress& progress) {
  CacheCounts sum;
  for (std::size_t c = 0; c < stream.caches(); ++c) {
    const Stream::Cache shown = stream.cache(c);
    const int64_t hits =
        min_hits(shown.touches, shown.pages(), frames.subspan(c, 1), progress).front();
    const int64_t misses = static_cast<int64_t>(shown.touches.size()) - hits;
    sum.hits += hits;
    sum.misses += misses;
    if (frames[c] > 0) sum.evictions += std::max<int64_t>(0, misses - frames[c]);
  }
  return sum;
}

}  // namespace forebay::sim
