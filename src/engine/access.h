// An access as a value: all bytes of a file that one call reads or writes, whatever the layout of
// its memory. The extents in the file are walked, never listed.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/pace.h"
#include "extent/layout.h"

namespace forebay {

struct Access {
  bool writes = false;
  bool collective = false;
  // Null: all bytes of the file, in order; the view outlives the access.
  const Tiling* view = nullptr;
  int64_t position = 0;  // of the first byte, in data bytes of the view
  int64_t bytes = 0;     // of data
  Pace* pace = nullptr;  // of the handles that carry it out together; null: it waits for nobody
  // The replacement policy learns of the pages. False: CacheHandle::touch() has told it of them, as
  // pages of a larger request; then the access does not go past the cache.
  bool told = true;
};

// The contiguous runs of an access in the file, in order.
class AccessRuns {
 public:
  explicit AccessRuns(const Access& access) : offset_(access.position), left_(access.bytes) {
    if (access.view != nullptr) cursor_.emplace(*access.view, access.position);
  }
  bool done() const { return left_ == 0; }
  Extent next() {
    const Extent run = !again_.empty() ? std::exchange(again_, {})
                       : cursor_       ? cursor_->next(left_)
                                       : Extent{offset_, left_};
    left_ -= run.length;
    return run;
  }
  // What of the run that next() returned last lies at or beyond `end` comes again.
  void cut(Extent& run, int64_t end) {
    if (run.end() <= end) return;
    put_back({end, run.end() - end});
    run.length = end - run.offset;
  }
  // The run that next() returned last comes again.
  void put_back(Extent run) {
    again_ = run;
    left_ += run.length;
  }

 private:
  std::optional<Cursor> cursor_;
  int64_t offset_;
  int64_t left_;
  Extent again_;
};

}  // namespace forebay
