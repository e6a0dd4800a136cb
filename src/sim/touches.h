// Recorded accesses as touches of pages, in the order in which each cache sees them.
//
// A page that consecutive touches of one handle meet again counts once: the extents of an access,
// and the accesses that follow it, as long as they stay on the page. The runtime counts likewise.
// What is long goes past the cache, contiguous piece by piece, by the runtime's rule; what stays on
// the page of the touch before is served there however long it is.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "sim/access_log.h"
#include "sim/progress.h"

namespace forebay::sim {

// What a touch takes in memory.
inline constexpr std::size_t touch_bytes = sizeof(PageKey);

// Who has which cache, and what goes past it.
struct Caches {
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  std::vector<uint32_t> of_process;        // each process's cache; empty: all share the first
  std::vector<int64_t> least_past{never};  // of each cache: so long pieces go past it
};

// What the caches are shown.
struct Shown {
  std::vector<PageKey> keys;       // cache by cache
  std::vector<std::size_t> ends;   // of each cache's keys
  std::vector<uint64_t> accesses;  // to each cache, with those past it
  uint64_t past_accesses = 0;      // that went past a cache, wholly or in part
  uint64_t past_bytes = 0;
};

// Counts touches, then keeps them, so that memory is taken once and for no more than there are.
class TouchRecorder {
 public:
  TouchRecorder(int64_t page_bytes, uint64_t most, const Caches& caches);

  // What follows belongs to one access, by this process.
  void begin(uint32_t process);
  // Touches the pages of bytes [offset, end) of a file, but for the first where `last_page` (of who
  // touches) is the same, or goes past the cache. False: these would be more touches than there may
  // be.
  bool touch(uint32_t file, int64_t offset, int64_t end, int64_t* last_page);
  // Whether what was touched last went past the cache.
  bool went_past() const { return went_past_; }
  // Whether a piece within a page may go past the cache.
  bool may_pass_within_page() const { return least_past_ <= page_bytes_; }
  // From now on touches go to `shown`, as many as `counted` has met.
  void keep(const TouchRecorder& counted, Shown* shown);

  int64_t page_bytes() const { return page_bytes_; }

 private:
  void pass(int64_t bytes);

  const Caches& caches_;
  int64_t page_bytes_;
  uint64_t most_;
  uint64_t count_ = 0;
  std::vector<std::size_t> counts_;  // of each cache; where keys are kept, the next one's place
  uint32_t cache_ = 0;               // of the access under way
  int64_t least_past_ = Caches::never;
  bool went_past_ = false;
  bool counted_past_ = false;  // the access under way
  Shown* shown_ = nullptr;
};

// The extents of one access. False as TouchRecorder::touch.
bool touch_access(const AccessLog& log, const DataAccess& access, int64_t* last_page,
                  TouchRecorder& recorder);

// Every process's own accesses, in the order of their starts. False: they are more than `most`.
// Each access is met twice; so is `progress` told of it.
bool original_touches(const AccessLog& log, int64_t page_bytes, const Caches& caches, uint64_t most,
                      Shown& shown, Progress& progress);

// Calls walk(recorder) to count and again to keep. False: walk() said so.
template <typename Walk>
bool record(int64_t page_bytes, const Caches& caches, uint64_t most, Shown& shown, Walk walk) {
  TouchRecorder counter(page_bytes, most, caches);
  if (!walk(counter)) return false;
  TouchRecorder keeper(page_bytes, most, caches);
  keeper.keep(counter, &shown);
  return walk(keeper);
}

}  // namespace forebay::sim
