// Pages of files that no handle has open. They stay for the file's next open as long as no other
// page needs their frames: a frame of theirs is as good as a free one.
#pragma once

#include <algorithm>

#include "engine/cache.h"

namespace forebay {

template <typename Driver>
void Cache<Driver>::rest(const OpenFile& file) {
  if (!has_frames()) return;
  CacheArena::Header& header = arena_.header();
  const auto place = std::ranges::min_element(header.resting, {}, [](const auto& resting) {
    return resting.file.load() == 0 ? 0 : resting.since.load();
  });
  if (const uint64_t longest = place->file.exchange(0); longest != 0)
    change_frames(longest, {0, INT64_MAX}, [](FrameIndex, int64_t) { return false; });
  const uint64_t number = header.rests.load() + 1;
  place->since.store(number);
  place->file.store(file.state().id);
  header.rests.store(number);
}

template <typename Driver>
void Cache<Driver>::rest(const OpenFile& file, const FileDomains& domains, uint32_t self) {
  keep_own(file, domains, self);
  rest(file);
}

template <typename Driver>
void Cache<Driver>::keep_own(const OpenFile& file, const FileDomains& domains, uint32_t self) {
  change_frames(file.state().id, {0, INT64_MAX}, [&](FrameIndex f, int64_t page_start) {
    return domains.owner_of(page_start) == self || kind().any_dirty(state(f), page_size());
  });
}

template <typename Driver>
int64_t Cache<Driver>::wake(const OpenFile& file) {
  const uint64_t id = file.state().id;
  int64_t pages = 0;
  for (CacheArena::Resting& resting : arena_.header().resting) {
    uint64_t expected = id;
    if (!resting.file.compare_exchange_strong(expected, 0)) continue;
    (void)any_frame([&](const Frame& frame) {
      pages += frame.key.file == id ? 1 : 0;
      return false;
    });
  }
  return pages;
}

// Frees the frames, in a shard whose lock is held, of the pages of the file that has rested longest
// of those which have such. False: none has.
template <typename Driver>
bool Cache<Driver>::free_resting(Locked& lock, uint32_t shard) {
  const CacheArena::Header& header = arena_.header();
  Shard& pages = arena_.shard(shard);
  while (pages.state().rests != header.rests.load(std::memory_order_relaxed)) {
    uint64_t file = 0;
    uint64_t since = header.rests.load();
    for (const CacheArena::Resting& resting : header.resting) {
      const uint64_t number = resting.since.load();
      if (resting.file.load() == 0 || number <= pages.state().rests || number > since) continue;
      file = resting.file.load();
      since = number;
    }
    pages.note_rests(since);
    if (file != 0 && free_pages(lock, shard, file)) return true;
  }
  return false;
}

// Only clean pages: a file that has been woken meanwhile may have others.
template <typename Driver>
bool Cache<Driver>::free_pages(Locked& lock, uint32_t shard, uint64_t file) {
  const ShardState& state = arena_.shard(shard).state();
  bool freed = false;
  for (FrameIndex f = state.first_frame; f < state.first_frame + state.usable; ++f) {
    const Frame& frame = this->frame(f);
    if (frame.key.file != file || frame.io != FrameIo::idle || frame.closed() || !close_clean(f))
      continue;
    release_frame(f);
    freed = true;
  }
  if (freed) lock.signal_when_done();
  return freed;
}

}  // namespace forebay
