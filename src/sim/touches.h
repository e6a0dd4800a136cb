// Converts recorded accesses to touches of pages, in the order in which each cache sees them.
//
// Consecutive touches of one page by one handle count once: by the extents of an access, and by the
// accesses that follow it on the same page. The runtime counts in the same way. Long contiguous
// pieces go past the cache, by the runtime's rule. A piece on the page that its handle touched last
// stays in the cache whatever its length.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "sim/access_log.h"
#include "sim/pieces.h"
#include "sim/progress.h"

namespace forebay::sim {

// Memory of one touch.
inline constexpr std::size_t touch_bytes = sizeof(PageKey);

// Which process uses which cache, and which pieces go past it.
struct Caches {
  static constexpr int64_t never = std::numeric_limits<int64_t>::max();

  std::vector<uint32_t> of_process;        // cache of each process; empty: all share the first
  std::vector<int64_t> least_past{never};  // per cache: pieces of at least so many bytes go past it
};

// The touches that the caches are shown, cache by cache.
struct Shown {
  std::vector<PageKey> keys;       // keys of all caches, one cache after the other
  std::vector<std::size_t> ends;   // end of each cache's keys
  std::vector<uint64_t> accesses;  // accesses to each cache, those that went past it included
  uint64_t past_accesses = 0;      // accesses that went past a cache, wholly or in part
  uint64_t past_bytes = 0;
  bool has_pieces = false;              // whether these are recorded:
  std::vector<Piece> pieces;            // of the accesses, cache by cache
  std::vector<std::size_t> piece_ends;  // end of each cache's pieces
  int64_t page_bytes = 1;
  std::vector<int64_t> least_past;  // per cache, as in Caches
};

// Counts the touches first and keeps them in a second pass, so that exactly the memory needed is
// taken.
class TouchRecorder {
 public:
  // With `pieces`, these are recorded, too.
  TouchRecorder(int64_t page_bytes, uint64_t most, const Caches& caches, bool pieces);

  // Begins an access by this process. The calls of touch() that follow belong to it.
  void begin(uint32_t process);
  // Touches the pages of bytes [offset, end) of a file, unless the piece goes past the cache.
  // `last_page` is the page that the handle touched last; if the first page is the same, it is not
  // touched again. False: there would be more than `most` touches, or pieces.
  bool touch(uint32_t file, int64_t offset, int64_t end, int64_t* last_page);
  // Whether the last piece went past the cache.
  bool went_past() const { return went_past_; }
  // Whether a piece within one page may go past the cache.
  bool may_pass_within_page() const { return least_past_ <= page_bytes_; }
  // From now on stores touches in `shown`, which gets room for the touches of `counted`.
  void keep(const TouchRecorder& counted, Shown* shown);

  int64_t page_bytes() const { return page_bytes_; }

 private:
  void pass(int64_t bytes);
  bool note_piece(const Piece& piece);

  const Caches& caches_;
  int64_t page_bytes_;
  uint64_t most_;
  bool pieces_;
  uint64_t count_ = 0;
  uint64_t piece_count_ = 0;
  uint32_t process_ = 0;
  std::vector<std::size_t> counts_;  // touches per cache; while keys are kept, the place of the
                                     // next key
  std::vector<std::size_t> piece_counts_;  // likewise, of pieces
  uint32_t cache_ = 0;                     // cache of the current access
  int64_t least_past_ = Caches::never;
  bool went_past_ = false;
  bool counted_past_ = false;  // the current access is counted in past_accesses
  Shown* shown_ = nullptr;
};

// Touches the pages of one access. False: as TouchRecorder::touch.
bool touch_access(const AccessLog& log, const DataAccess& access, int64_t* last_page,
                  TouchRecorder& recorder);

// The touches of all processes' own accesses, by start, and with `pieces` these. False: there are
// more than `most`.
// `progress` counts each access twice.
bool original_touches(const AccessLog& log, int64_t page_bytes, const Caches& caches, uint64_t most,
                      Shown& shown, Progress& progress, bool pieces = false);

// Calls walk(recorder) twice: to count and to keep. False: walk() returned false.
template <typename Walk>
bool record(int64_t page_bytes, const Caches& caches, uint64_t most, bool pieces, Shown& shown,
            Walk walk) {
  TouchRecorder counter(page_bytes, most, caches, pieces);
  if (!walk(counter)) return false;
  TouchRecorder keeper(page_bytes, most, caches, pieces);
  keeper.keep(counter, &shown);
  return walk(keeper);
}

}  // namespace forebay::sim
