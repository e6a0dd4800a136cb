// Accesses past the cache, which are coherent with it at any time. Settlemyer 4.1.1: requests for
// which the cache brings no gain go to storage, and cached pages are made to agree.
#pragma once

#include "engine/cache_handle.h"

namespace forebay {

// Marks a write past the cache while it is under way: a fill that overlaps it keeps nothing.
template <typename Driver>
class CacheHandle<Driver>::Past {
 public:
  explicit Past(OpenFile& file) : file_(file) {
    file_.state().direct_writers.fetch_add(1, std::memory_order_seq_cst);
    file_.note_past(true);
  }
  ~Past() {
    file_.state().direct_writes.fetch_add(1, std::memory_order_seq_cst);
    file_.note_past(false);
    file_.state().direct_writers.fetch_sub(1, std::memory_order_seq_cst);
  }
  Past(const Past&) = delete;
  Past& operator=(const Past&) = delete;

 private:
  OpenFile& file_;
};

template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::bypass_write(Extent extent, Source source) {
  begin_call(&Statistics::write_calls);
  statistics().write_bytes += extent.length;
  return within_memory([&] { return write_past(extent, source, 0); });
}

template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::bypass_read(Extent extent, Target target, int64_t* moved,
                                        int64_t began_ns) {
  begin_call(&Statistics::read_calls);
  int64_t storage_ns = 0;
  const Status status =
      within_memory([&] { return read_past(extent, target, moved, &storage_ns); });
  if (!status.ok()) return status;
  statistics().read_bytes += *moved;
  long_reads_.note({began_ns, Driver::now_ns(), *moved, storage_ns, *moved});
  return status;
}

template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_held(Extent extent, Target target, int64_t* moved, int64_t* held) {
  begin_call(&Statistics::read_calls);
  *moved = *held = 0;
  const Status status = within_memory([&] {
    std::vector<Extent> lacking;
    for (int64_t at = extent.offset; at < extent.end();) {
      bool holds = false;
      const Extent run{at, cache_.held_run(file_, {at, extent.end() - at}, &holds)};
      if (!holds) lacking.push_back(run);
      *held += holds ? run.length : 0;
      at = run.end();
    }
    PageCursor pages(lacking, cache_.page_size());
    while (cache_.prefetch(file_, pages)) {
    }
    return read_resident_or_past(extent, lacking, target, moved);
  });
  statistics().read_bytes += *moved;
  return status;
}

// The policy counts the pages that do not begin with bytes of `lacking`.
template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_resident_or_past(Extent extent, std::span<const Extent> lacking,
                                                  Target target, int64_t* moved) {
  Translation<Driver> ignored;
  const int64_t page_size = cache_.page_size();
  Extent past{extent.offset, 0};  // before the page under way
  const auto read_past_them = [&] {
    if (past.empty()) return Status();
    int64_t got = 0;
    const Status status = read_past(past, target + (past.offset - extent.offset), &got);
    *moved += got;
    return status;
  };
  for (int64_t at = extent.offset; at < extent.end();) {
    const int64_t end = std::min(extent.end(), round_down(at, page_size) + page_size);
    const Extent part{at, end - at};
    at = end;
    while (!lacking.empty() && lacking.front().end() <= part.offset) lacking = lacking.subspan(1);
    const bool count = lacking.empty() || lacking.front().offset > part.offset;
    if (!cache_.read_resident(file_, part, target + (part.offset - extent.offset), count,
                              &ignored)) {
      past.length += part.length;
      continue;
    }
    if (const Status status = read_past_them(); !status.ok()) return status;
    if (*moved < part.offset - extent.offset) return {};  // the end of file
    past = {end, 0};
    *moved += part.length;
  }
  return read_past_them();
}

template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_past(Extent extent, Source source, int64_t at,
                                       int64_t* storage_ns) {
  // A commit waits for frames, so no victim may be claimed.
  const Status status = write_waiting(source);
  return status.ok() ? write_past_now(extent, source + at, storage_ns) : status;
}

template <typename Driver>
template <typename Source>
Status CacheHandle<Driver>::write_past_now(Extent extent, Source source, int64_t* storage_ns) {
  count_call(&Statistics::bypass_calls, bypass_counted_);
  statistics().bypass_bytes += extent.length;
  statistics().bypass_written_bytes += extent.length;
  const Past past(file_);
  Status status;
  // Dirty bytes from before this write must not be committed over it later.
  if (cache_.any_held(file_, extent)) status = cache_.commit(file_, extent);
  if (status.ok()) status = file_.write_past(extent, source, cache_.may_be_dirty(), storage_ns);
  if (cache_.any_held(file_, extent)) cache_.drop(file_, extent, false);
  return status;
}

template <typename Driver>
template <typename Target>
Status CacheHandle<Driver>::read_past(Extent extent, Target target, int64_t* got,
                                      int64_t* storage_ns) {
  count_call(&Statistics::bypass_calls, bypass_counted_);
  statistics().bypass_bytes += extent.length;
  *got = 0;
  Status status;
  if (cache_.any_held(file_, extent)) status = cache_.commit(file_, extent);
  if (!status.ok()) return status;
  status = file_.read_past(extent, target, got, storage_ns);
  statistics().read_storage_bytes += *got;
  if (!status.ok() || *got == extent.length) return status;
  // A hole between storage's end and bytes that are still cached reads as zeros.
  int64_t end;
  status = size(&end);
  const int64_t known = std::clamp<int64_t>(end - extent.offset, *got, extent.length);
  Driver::zero(target + *got, known - *got);
  *got = known;
  return status;
}

}  // namespace forebay
