#include "sim/belady.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace forebay::sim {
namespace {

using Touch = uint32_t;  // index of a touch
constexpr Touch never = std::numeric_limits<Touch>::max();

// For every touch, the next one of the same page.
std::vector<Touch> next_touches(std::span<const PageKey> touches, uint32_t* pages,
                                std::vector<uint32_t>& page_of) {
  struct Slot {
    PageKey key;
    uint32_t page;
    Touch next;
  };
  const std::size_t mask = std::bit_ceil(touches.size() * 2 + 1) - 1;
  std::vector<Slot> table(mask + 1, Slot{{}, never, never});
  std::vector<Touch> next(touches.size());
  page_of.resize(touches.size());
  *pages = 0;
  for (std::size_t i = touches.size(); i-- > 0;) {
    const PageKey key = touches[i];
    std::size_t at = hash_of(key) & mask;
    while (table[at].page != never && !(table[at].key == key)) at = (at + 1) & mask;
    Slot& slot = table[at];
    if (slot.page == never) slot = {key, (*pages)++, never};
    next[i] = slot.next;
    slot.next = static_cast<Touch>(i);
    page_of[i] = slot.page;
  }
  return next;
}

// The cached pages, the one that is touched again last on top. A page that is touched gets a new
// entry; the old one, whose time has passed, is below everything that is still to come.
int64_t hits_of(const std::vector<Touch>& next, const std::vector<uint32_t>& page_of,
                uint32_t pages, uint32_t frames) {
  if (frames == 0) return 0;
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
    if (heap.size() > 2 * std::size_t{frames} + 1024) {  // most entries are of the past
      std::erase_if(heap, [i](const Entry& entry) { return entry.next <= i; });
      std::make_heap(heap.begin(), heap.end());
    }
  }
  return hits;
}

}  // namespace

std::vector<int64_t> min_hits(std::span<const PageKey> touches, std::span<const uint32_t> frames) {
  uint32_t pages = 0;
  std::vector<uint32_t> page_of;
  const std::vector<Touch> next = next_touches(touches, &pages, page_of);
  std::vector<int64_t> hits;
  for (const uint32_t count : frames) hits.push_back(hits_of(next, page_of, pages, count));
  return hits;
}

}  // namespace forebay::sim
