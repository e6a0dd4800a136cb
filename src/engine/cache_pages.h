// Finds a page, or a frame for it; writes to pages, and reads of resident pages.
#pragma once

#include <algorithm>

#include "engine/cache.h"

namespace forebay {

template <typename Driver>
bool Cache<Driver>::grow(Shard& shard) {
  constexpr int64_t growth_bytes = 1 << 20;  // memory is reserved in steps of this size
  const ShardState& s = shard.state();
  const auto step = static_cast<uint32_t>(
      std::clamp<int64_t>(growth_bytes / page_size(), 1, s.frame_count - s.usable));
  const FrameIndex first = s.first_frame + s.usable;
  for (const uint32_t frames : {step, 1u}) {
    if (driver_.reserve(first, frames)) {
      for (FrameIndex f = first; f < first + frames; ++f) new (&frame(f)) Frame;
      arena_.header().usable_frames.fetch_add(frames);
      shard.add_usable(frames);
      return true;
    }
  }
  shard.stop_growing();
  return false;
}

template <typename Driver>
CommitShape Cache<Driver>::commit_shape(FrameIndex index) const {
  if (frame(index).dirty_hint.load(std::memory_order_relaxed) == 0) return {};
  Regions regions;
  kind().dirty(state(index), page_size(), regions);
  return shape_of(regions, page_size());
}

// The one place where a page comes into the cache and a victim leaves it.
template <typename Driver>
typename Cache<Driver>::Got Cache<Driver>::obtain(OpenFile& file, Locked& lock, PageKey key,
                                                  bool* count, bool wait, FrameIndex* index,
                                                  Status* status) {
  Shard& shard = arena_.shard(shard_number(key));
  const Acquired acquired = shard.acquire(key, *count, *this);
  *index = acquired.frame;
  switch (acquired.outcome) {
    case Acquire::hit:
      if (*count) ++file.statistics().hits;
      *count = false;
      if (!frame(*index).closed()) return Got::resident;
      if (!wait) return Got::none;
      lock.wait();
      return Got::again;
    case Acquire::empty:
      kind().reset(state(*index), page_size());
      shard.place(*index, key, file.slot());
      if (*count) ++file.statistics().misses;
      *count = false;
      return Got::placed;
    case Acquire::grow:
      grow(shard);
      return Got::again;
    case Acquire::victim:
      break;
    case Acquire::none:
      if (shard.state().usable == 0) {
        *status = {Code::no_memory, ENOMEM, -1};
        return Got::none;
      }
      if (!wait) return Got::none;
      lock.wait();
      return Got::again;
  }
  const Frame& victim = frame(*index);
  const auto dirty = [&] { return victim.dirty_hint.load(std::memory_order_seq_cst) != 0; };
  bool must_commit = dirty();
  if (!must_commit) {
    close_frame(*index);
    must_commit = dirty();  // published while it was being closed
    if (must_commit) open_frame(*index);
  }
  if (must_commit) {
    if (!wait) return Got::none;
    lock.pause();
    *status = commit_around(file, *index);
    lock.resume();
    return status->ok() ? Got::again : Got::none;
  }
  kind().reset(state(*index), page_size());
  shard.replace(*index, key, file.slot());
  ++file.statistics().evictions;
  if (*count) ++file.statistics().misses;
  *count = false;
  return Got::placed;
}

template <typename Driver>
Status Cache<Driver>::page_for_write(OpenFile& file, Extent part, bool count,
                                     Translation* translation) {
  const int64_t page = part.offset / page_size();
  const int64_t page_start = page * page_size();
  const PageKey key = key_of(file, page);
  bool must_fill = kind().fill_before_write() && part.length < page_size() && file.readable();
  Status status;
  for (;;) {
    Filling claims(*this, must_fill ? 1 : 0);
    FrameIndex index;
    {
      Locked lock(*this, shard_number(key));
      const Got got = obtain(file, lock, key, &count, true, &index, &status);
      if (got == Got::again) continue;
      if (got == Got::none) return status;
      if (must_fill && got == Got::resident) {
        must_fill = !kind().holds(state(index), page_size(), whole_page());
      }
      if (must_fill) {
        if (frame(index).io != FrameIo::idle) {
          lock.wait();
          continue;
        }
        claims.begin({index, page_start, got == Got::placed});
      } else {
        if (got == Got::placed) open_frame(index);
        *translation = this->translation(index, page_start);
      }
    }
    driver_.populate(index);
    if (claims.empty()) return {};
    int64_t ignored;
    status = fill(file, claims, {page_start, 0}, NoBytes{}, true, &ignored);
    if (!status.ok()) return status;
    must_fill = false;  // what lies beyond the end of the file stays missing
  }
}

template <typename Driver>
template <typename Source>
Status Cache<Driver>::write_locked(OpenFile& file, Extent part, Source source, bool count) {
  const int64_t page_start = round_down(part.offset, page_size());
  const PageKey key = key_of(file, part.offset / page_size());
  const Extent region{part.offset - page_start, part.length};
  Status status;
  for (;;) {
    FrameIndex index;
    {
      Locked lock(*this, shard_number(key));
      const Got got = obtain(file, lock, key, &count, true, &index, &status);
      if (got == Got::again) continue;
      if (got == Got::none) return status;
      if (got == Got::placed) open_frame(index);
      copy_in(index, region, source);
      if (kind().publish(state(index), page_size(), region)) {
        note_dirty(frame(index));
        return {};
      }
      if (frame(index).io != FrameIo::idle) {
        lock.wait();
        continue;
      }
      if (frame(index).dirty_hint.load() == 0) {  // full of clean regions
        kind().drop_clean(state(index), page_size());
        continue;
      }
    }
    status = commit_frames(file, {index}, key.file, true);
    if (!status.ok()) return status;
  }
}

template <typename Driver>
template <typename Target>
bool Cache<Driver>::read_resident(OpenFile& file, Extent part, Target target, bool count,
                                  Translation* translation) {
  const int64_t page_start = round_down(part.offset, page_size());
  const PageKey key = key_of(file, part.offset / page_size());
  const Extent region{part.offset - page_start, part.length};
  Locked lock(*this, shard_number(key));
  Shard& shard = arena_.shard(shard_number(key));
  const FrameIndex index = shard.find(key);
  if (index == no_frame || frame(index).closed()) return false;
  if (!kind().holds(state(index), page_size(), region)) return false;
  if (count) {
    shard.hit(index);
    ++file.statistics().hits;
  }
  copy_out(index, region, target);
  if (kind().lock_free()) *translation = this->translation(index, page_start);
  return true;
}

template <typename Driver>
bool Cache<Driver>::any_frame(uint64_t file, Extent range) {
  for (uint32_t s = 0; s < arena_.shards(); ++s) {
    const Locked lock(*this, s);
    const ShardState& shard = arena_.shard(s).state();
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      if (meets(frame(f), file, range)) return true;
    }
  }
  return false;
}

template <typename Driver>
bool Cache<Driver>::any_held(const OpenFile& file, Extent range) {
  if (!has_frames()) return false;
  const int64_t first = range.offset / page_size();
  const int64_t last = (range.end() - 1) / page_size();
  if (last - first >= frames()) return any_frame(file.state().id, range);
  Regions missing;
  for (int64_t page = first; page <= last; ++page) {
    const PageKey key = key_of(file, page);
    Shard& shard = arena_.shard(shard_number(key));
    if (!shard.may_hold(key)) continue;
    const Locked lock(*this, shard_number(key));
    const FrameIndex index = shard.find(key);
    if (index == no_frame) continue;
    const int64_t page_start = page * page_size();
    Extent region = intersect(range, {page_start, page_size()});
    region.offset -= page_start;
    missing.clear();
    kind().missing(state(index), page_size(), region, missing);
    if (frame(index).closed() || missing.size() != 1 || missing.front() != region) return true;
  }
  return false;
}

}  // namespace forebay
