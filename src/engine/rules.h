// Small decisions in numbers: bounds and sizes of requests.
#pragma once

#include <algorithm>
#include <cstdint>

#include "extent/extent.h"

namespace forebay {

inline constexpr int64_t most_pages_a_plan = 256;  // in one list of requests
// Guests that an owner gets at once, from all nodes.
inline constexpr int64_t most_guest_bytes = 64 << 20;

// The least size of an access that goes past the cache: it is large by itself, or would evict half
// of the cache. With beyond_capacity, a baseline of simulations (Settlemyer 4.1.1), only what the
// cache cannot hold goes past it.
inline constexpr int64_t beyond_capacity = -1;
inline int64_t least_past(int64_t bypass_bytes, int64_t capacity_bytes) {
  if (bypass_bytes == beyond_capacity) return capacity_bytes + 1;
  return std::min(bypass_bytes, capacity_bytes / 2 + 1);
}

// The most pages of a read that are fetched with one list of requests.
inline int64_t pages_a_fill(uint32_t frames) {
  return std::clamp<int64_t>(frames / 4, 1, most_pages_a_plan);
}

// The bytes that storage reads in the time that one more request takes: some 0.1 ms at 0.6 GB/s.
inline constexpr int64_t bytes_worth_a_request = 64 << 10;

// The part that is fetched of a page that lacks bytes of `wanted`: the whole page, or the wanted
// bytes rounded to units of 4 KiB.
inline Extent fetched_of(Extent page, Extent wanted, bool whole_pages) {
  constexpr int64_t unit = 4096;
  const Extent inside = intersect(page, wanted);
  if (whole_pages || inside.empty()) return page;
  const int64_t begin = round_down(inside.offset - page.offset, unit);
  const int64_t end =
      std::min(page.length, round_down(inside.end() - page.offset + unit - 1, unit));
  return {page.offset + begin, end - begin};
}

// The most frames, of a shard, that hold pages which leave.
inline uint32_t most_spare(uint32_t frames) { return frames / 2; }

// Walks the neighbours of a victim's page: a victim is committed with the dirty pages beside it
// (Settlemyer 7.4.1: write more than the victim when that makes one large request). Calls
// `joins(neighbour, direction)` for the pages after the victim's (direction 1), then for those
// before it (-1), on each side until it returns false.
template <typename Joins>
void walk_neighbours(int64_t page, const Joins& joins) {
  for (const int64_t direction : {int64_t{1}, int64_t{-1}}) {
    int64_t neighbour = page + direction;
    while (joins(neighbour, direction)) neighbour += direction;
  }
}

// The most pages that are committed together, the victim's included.
inline int64_t pages_around_victim(int64_t commit_size_bytes, int64_t page_size) {
  return std::clamp<int64_t>(commit_size_bytes / page_size, 1, most_pages_a_plan);
}

// The most bytes that are fetched ahead: at most a quarter of the cache.
inline int64_t read_ahead_window(int64_t read_ahead_bytes, int64_t capacity_bytes) {
  return std::min(read_ahead_bytes, capacity_bytes / 4);
}

// How many frames may be dirty.
class DirtyBound {
 public:
  DirtyBound(double share, uint32_t frames) : most_(static_cast<uint32_t>(share * frames)) {}
  uint32_t most() const { return most_; }            // with more, writers commit themselves
  uint32_t begin() const { return most_ / 2; }       // with more, write-behind begins
  uint32_t background() const { return most_ / 4; }  // at this, write-behind in the background ends

 private:
  uint32_t most_;
};

// What write-behind does with pages that lack bytes, if full pages do not suffice.
enum class Partial : uint8_t {
  commit,
  leave,
  leave_shared,  // if several handles write to most of them; the file then has shared pages
};

// Dirty pages that lack bytes, and the contiguous runs of their dirty bytes: each becomes a
// request.
struct PartialPages {
  uint32_t pages = 0;
  int64_t runs = 0;
};

// How far write-behind goes.
struct WriteBehind {
  uint32_t dirty = 0;  // frames of the cache that may stay dirty
  Partial partial = Partial::commit;
  int64_t before = INT64_MAX;  // pages that lack bytes stay from the one on that has this offset
};

// After how many more dirty frames write-behind looks for full pages again, where it leaves others.
inline uint32_t frames_between_looks(uint32_t frames) { return std::max(frames / 32, 1U); }

// How much of a collective access is touched at a time (CacheHandle::touch()): a collective buffer
// of ROMIO's size, unless this is too much for the cache.
inline int64_t bytes_a_round(int64_t capacity_bytes, int64_t page_size) {
  constexpr int64_t collective_buffer_bytes = 16 << 20;
  return std::max(std::min(collective_buffer_bytes, capacity_bytes / 2), page_size);
}

}  // namespace forebay
