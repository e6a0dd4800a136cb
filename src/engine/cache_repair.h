// Repairs an arena after the death of a process: what it left half done is made whole.
#pragma once

#include "engine/cache.h"

namespace forebay {

// Repairs a frame whose I/O was begun, or which was closed, by a dead process. Bytes that were
// published stay. A page that the process was bringing in is dropped: no other process has seen it.
template <typename Driver>
void Cache<Driver>::repair_frame(FrameIndex index) {
  Frame& f = frame(index);
  if (commits(f)) arena_.header().committing_frames.fetch_sub(1);
  f.io = FrameIo::idle;
  if (f.closed()) driver_.drain(index);  // the dead process may not have waited
  kind().repair(state(index), page_size());
  const bool dirty = kind().any_dirty(state(index), page_size());
  if (dirty) note_dirty(f, every_writer);
  if (!f.closed()) return;
  if (!dirty) return release_frame(index);
  kind().drop_clean(state(index), page_size());
  open_frame(index);
}

// Repairs a shard. Called by the process that gets its lock after the owner died with it. The owner
// may have been changing the state of any page, even of a page that a living process commits: bytes
// in flight of such a page become dirty, and the living process commits them once more before it
// calls them stored.
template <typename Driver>
void Cache<Driver>::repair_shard(uint32_t number) {
  arena_.shard(number).rebuild();
  const ShardState& s = arena_.shard(number).state();
  for (FrameIndex f = s.first_frame; f < s.first_frame + s.usable; ++f) {
    Frame& frame = this->frame(f);
    if (frame.key.file == 0) continue;
    if (frame.io == FrameIo::idle || !driver_.alive(frame.io_process)) {
      repair_frame(f);
    } else if (!kind().lock_free()) {
      kind().repair(state(f), page_size());
      if (kind().any_dirty(state(f), page_size())) note_dirty(frame, every_writer);
      if (commits(frame)) frame.io = FrameIo::recommitting;
    }
  }
}

template <typename Driver>
void Cache<Driver>::end_io_of(uint32_t process) {
  for (uint32_t s = 0; s < arena_.shards(); ++s) {
    Locked lock(*this, s);
    const ShardState& shard = arena_.shard(s).state();
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      if (frame(f).io == FrameIo::idle || frame(f).io_process != process) continue;
      repair_frame(f);
      lock.signal_when_done();
    }
  }
}

// Ends the I/O of dead processes. Called under the shard's lock by a process that has waited long
// for some I/O to end.
template <typename Driver>
void Cache<Driver>::end_io_of_the_dead(uint32_t number) {
  const ShardState& s = arena_.shard(number).state();
  for (FrameIndex f = s.first_frame; f < s.first_frame + s.usable; ++f) {
    if (frame(f).io != FrameIo::idle && !driver_.alive(frame(f).io_process)) repair_frame(f);
  }
}

template <typename Driver>
int64_t Cache<Driver>::unsaved_bytes(uint64_t file) {
  int64_t bytes = 0;
  Regions regions;
  for (const FrameIndex f : frames_of(file, {0, INT64_MAX}, Which::all)) {
    const Locked lock(*this, shard_number(f));
    if (frame(f).key.file != file) continue;
    regions.clear();
    kind().unsaved(state(f), page_size(), regions);
    for (const Extent& region : regions) bytes += region.length;
  }
  return bytes;
}

}  // namespace forebay
