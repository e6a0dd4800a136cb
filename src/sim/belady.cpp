#include "sim/belady.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sim/page_numbers.h"

namespace forebay::sim {
namespace {

using Touch = uint32_t;  // index of a touch
constexpr Touch never = std::numeric_limits<Touch>::max();

// For each touch, the next touch of the same page.
std::vector<Touch> next_touches(std::span<const uint32_t> touches, uint32_t pages) {
  std::vector<Touch> next(touches.size());
  // Next touch of each page, from the touches after the current one.
  std::vector<Touch> first(pages, never);
  for (std::size_t i = touches.size(); i-- > 0;)
    next[i] = std::exchange(first[touches[i]], static_cast<Touch>(i));
  return next;
}

// A heap of the cached pages; the page that is touched again last is on top. A touched page gets a
// new entry. Its old entry is outdated and lies below all entries that are not.
int64_t hits_of(const std::vector<Touch>& next, std::span<const uint32_t> page_of, uint32_t pages,
                uint32_t frames, Progress& progress) {
  struct Entry {
    Touch next;
    uint32_t page;
    bool operator<(const Entry& other) const { return next < other.next; }
  };
  std::vector<Entry> heap;
  std::vector<bool> cached(pages);
  uint32_t resident = 0;
  int64_t hits = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (i % Progress::step == 0) progress.add(std::min(Progress::step, next.size() - i));
    const uint32_t page = page_of[i];
    if (cached[page]) {
      ++hits;
    } else {
      if (resident == frames) {
        std::pop_heap(heap.begin(), heap.end());
        cached[heap.back().page] = false;
        heap.pop_back();
      } else {
        ++resident;
      }
      cached[page] = true;
    }
    heap.push_back({next[i], page});
    std::push_heap(heap.begin(), heap.end());
    if (heap.size() > 2 * std::size_t{frames} + 1024) {  // most entries are outdated
      std::erase_if(heap, [i](const Entry& entry) { return entry.next <= i; });
      std::make_heap(heap.begin(), heap.end());
    }
  }
  return hits;
}

}  // namespace

std::vector<int64_t> min_hits(std::span<const PageKey> touches, std::span<const uint32_t> frames) {
  uint32_t pages = 0;
  const std::vector<uint32_t> page_of = numbers_of(touches, &pages);
  Progress ignored;
  return min_hits(page_of, pages, frames, ignored);
}

std::vector<int64_t> min_hits(std::span<const uint32_t> touches, uint32_t pages,
                              std::span<const uint32_t> frames, Progress& progress) {
  const std::vector<Touch> next = next_touches(touches, pages);
  progress.add(touches.size());
  std::vector<int64_t> hits;
  for (const uint32_t count : frames) {
    const bool looks = count > 0 && count < pages;
    if (!looks) progress.add(touches.size());
    if (looks)
      hits.push_back(hits_of(next, touches, pages, count, progress));
    else
      hits.push_back(count == 0 ? 0 : static_cast<int64_t>(touches.size() - pages));
  }
  return hits;
}

}  // namespace forebay::sim
