// Recorded accesses as touches of pages, in the order in which a cache sees them.
//
// A page that consecutive touches of one handle meet again counts once: the extents of an access,
// and the accesses that follow it, as long as they stay on the page. The runtime counts likewise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "sim/access_log.h"

namespace forebay::sim {

// What a touch takes in memory.
inline constexpr std::size_t touch_bytes = sizeof(PageKey);

// Counts touches, then keeps them, so that memory is taken once and for no more than there are.
class TouchRecorder {
 public:
  TouchRecorder(int64_t page_bytes, uint64_t most) : page_bytes_(page_bytes), most_(most) {}

  // Touches the pages of bytes [offset, end) of a file, but for the first where `last_page` (of who
  // touches) is the same. False: these would be more than there may be.
  bool touch(uint32_t file, int64_t offset, int64_t end, int64_t* last_page);
  // From now on touches go to `keys`.
  void keep(std::vector<PageKey>* keys);

  int64_t page_bytes() const { return page_bytes_; }
  uint64_t count() const { return count_; }

 private:
  int64_t page_bytes_;
  uint64_t most_;
  uint64_t count_ = 0;
  std::vector<PageKey>* keys_ = nullptr;
};

// The extents of one access. False as TouchRecorder::touch.
bool touch_access(const AccessLog& log, const DataAccess& access, int64_t* last_page,
                  TouchRecorder& recorder);

// Every process's own accesses, in the order of their starts. False: they are more than `most`.
bool original_touches(const AccessLog& log, int64_t page_bytes, uint64_t most,
                      std::vector<PageKey>& keys);

// How many different pages there are.
int64_t distinct_pages(std::span<const PageKey> keys);

// Calls walk(recorder) to count and again to keep. False: walk() said so.
template <typename Walk>
bool record(int64_t page_bytes, uint64_t most, std::vector<PageKey>& keys, Walk walk) {
  TouchRecorder counter(page_bytes, most);
  if (!walk(counter)) return false;
  TouchRecorder keeper(page_bytes, most);
  keys.clear();
  keys.reserve(counter.count());
  keeper.keep(&keys);
  return walk(keeper);
}

}  // namespace forebay::sim
