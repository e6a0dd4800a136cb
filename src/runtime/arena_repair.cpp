// After the death of a process: what it left half done in an arena is made whole.

#include "runtime/arena_lock.h"

namespace forebay::runtime {

// The frame's I/O, or the closing of the frame, was a dead process's. Bytes that it had published
// stay; a page that it was bringing in was never seen by anybody.
void ArenaCache::repair_frame(FrameIndex frame) {
  Frame& f = frames_[frame];
  if (f.io == FrameIo::committing) header_->committing_frames.fetch_sub(1);
  f.io = FrameIo::idle;
  kind_->repair(state(frame), page_size());
  const bool dirty = kind_->any_dirty(state(frame), page_size());
  if (dirty) note_dirty(f);
  if (!f.closed()) return;
  if (!dirty) return release_frame(frame);
  kind_->drop_clean(state(frame), page_size());
  open_frame(frame);
}

// Called by whoever gets the shard's lock after its owner died with it. The owner may have been
// within the state of any page, even of one that a living process commits: the bytes in flight
// there become dirty and are committed once more.
void ArenaCache::repair_shard(uint32_t shard) {
  shards_[shard].rebuild();
  const ShardState& s = shards_[shard].state();
  for (FrameIndex f = s.first_frame; f < s.first_frame + s.usable; ++f) {
    Frame& frame = frames_[f];
    if (frame.key.file == 0) continue;
    if (frame.io == FrameIo::idle || !alive(registry_->processes[frame.io_process].id)) {
      repair_frame(f);
    } else if (!kind_->lock_free()) {
      kind_->repair(state(f), page_size());
      if (kind_->any_dirty(state(f), page_size())) note_dirty(frame);
    }
  }
}

void ArenaCache::end_io_of(uint32_t process) {
  for (uint32_t s = 0; s < shape_.shards; ++s) {
    Locked lock(*this, s);
    const ShardState& shard = shards_[s].state();
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      if (frames_[f].io == FrameIo::idle || frames_[f].io_process != process) continue;
      repair_frame(f);
      lock.signal_when_done();
    }
  }
}

// Under the shard's lock, by who has waited long for some I/O to end.
void ArenaCache::end_io_of_the_dead(uint32_t shard) {
  const ShardState& s = shards_[shard].state();
  for (FrameIndex f = s.first_frame; f < s.first_frame + s.usable; ++f) {
    const Frame& frame = frames_[f];
    if (frame.io != FrameIo::idle && !alive(registry_->processes[frame.io_process].id))
      repair_frame(f);
  }
}

int64_t ArenaCache::unsaved_bytes(uint64_t file) {
  int64_t bytes = 0;
  Regions regions;
  for (const FrameIndex f : frames_of(file, {0, INT64_MAX}, Which::all)) {
    const Locked lock(*this, f / shape_.frames_per_shard());
    if (frames_[f].key.file != file) continue;
    regions.clear();
    kind_->unsaved(state(f), page_size(), regions);
    for (const Extent& region : regions) bytes += region.length;
  }
  return bytes;
}

}  // namespace forebay::runtime
