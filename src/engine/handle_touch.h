// Pages that a handle touches for accesses that several handles carry out together, as one request
// of all of them would touch them. So the replacement policy sees what collective buffering makes
// of the accesses (Lu 2014 compares with it), and each handle moves its bytes afterwards.
#pragma once

#include "engine/cache_handle.h"

namespace forebay {

template <typename Driver>
Status CacheHandle<Driver>::touch(Extent range, bool writes) {
  if (range.empty() || writes_through()) return {};
  const Telling telling(*this, true);
  const int64_t last_page = last_page_;
  go_to_page(last_touched_page_);
  const Status status =
      within_memory([&] { return writes ? touch_to_write(range) : touch_to_read(range); });
  if (foresight_ != nullptr) foresee(range);
  last_touched_page_ = last_page_;
  go_to_page(last_page);
  return status;
}

template <typename Driver>
Status CacheHandle<Driver>::touch_to_write(Extent range) {
  const int64_t page_size = cache_.page_size();
  Status status;
  for (Extent rest = range; status.ok() && !rest.empty();) {
    const int64_t end = std::min(rest.end(), round_down(rest.offset, page_size) + page_size);
    status = write_part({rest.offset, end - rest.offset}, Touch{}, 0);
    rest = {end, rest.end() - end};
  }
  int64_t ignored = 0;
  return waiting_.empty() ? status : end_write(status, Touch{}, &ignored);
}

template <typename Driver>
Status CacheHandle<Driver>::touch_to_read(Extent range) {
  const int64_t counted_end = range.offset + (continues_page(range.offset) ? 1 : 0);
  int64_t ignored = 0;
  const Status status = cache_.read(file_, range, NoBytes{}, false, counted_end, &ignored);
  continues_page(range.end() - 1);
  return status;
}

}  // namespace forebay
