// Finds a page, or a frame for it; writes to pages, and reads of resident pages.
#pragma once

#include <algorithm>

#include "engine/cache.h"

namespace forebay {

template <typename Driver>
void Cache<Driver>::grow(Shard& shard) {
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
      return;
    }
  }
  shard.stop_growing();
}

template <typename Driver>
CommitShape Cache<Driver>::commit_shape(FrameIndex index) const {
  if (frame(index).writers.load(std::memory_order_relaxed) == 0) return {};
  Regions regions;
  kind().dirty(state(index), page_size(), regions);
  return shape_of(regions, page_size());
}

// Makes the frame hold a page without bytes.
template <typename Driver>
void Cache<Driver>::empty_page(FrameIndex index) const {
  kind().reset(state(index), page_size());
  frame(index).ahead = Ahead::no;
  frame(index).last_writer = frame(index).shared = 0;
}

// Notes, under the frame's lock, that somebody asks for its page.
template <typename Driver>
void Cache<Driver>::note_use(OpenFile& file, FrameIndex index) const {
  Frame& page = frame(index);
  if (page.ahead != Ahead::unused) return;
  if (page.closed()) {
    page.ahead = Ahead::awaited;  // whoever fetches it counts it, if the file has such bytes
    return;
  }
  page.ahead = Ahead::no;
  ++file.statistics().ahead_used_pages;
}

// Notes, under the frame's lock, that a handle comes to write to its page.
template <typename Driver>
void Cache<Driver>::note_writer(const OpenFile& file, FrameIndex index) const {
  Frame& page = frame(index);
  const uint32_t before = std::exchange(page.last_writer, file.number() + 1);
  if (before != 0 && before != page.last_writer) page.shared = 1;
}

// The one place where a page comes into the cache and a victim leaves it.
template <typename Driver>
typename Cache<Driver>::Got Cache<Driver>::obtain(OpenFile& file, Locked& lock, PageKey key,
                                                  bool* count, bool wait, Evictions* evictions,
                                                  FrameIndex* index, Status* status) {
  Shard& shard = arena_.shard(shard_number(key));
  const Acquired acquired = shard.acquire(key, *count, *this);
  *index = acquired.frame;
  switch (acquired.outcome) {
    case Acquire::hit:
      if (*count) ++file.statistics().hits;
      *count = false;
      note_use(file, *index);
      if (!frame(*index).closed()) return Got::resident;
      if (!wait) return Got::none;
      lock.wait();
      return Got::again;
    case Acquire::empty:
      empty_page(*index);
      shard.place(*index, key, file.slot());
      if (*count) ++file.statistics().misses;
      *count = false;
      return Got::placed;
    case Acquire::grow:
      grow(shard);
      return Got::again;
    case Acquire::victim:
      if (free_resting(lock, shard_number(key))) return Got::again;
      break;
    case Acquire::none:
      if (free_resting(lock, shard_number(key))) return Got::again;
      if (shard.state().usable == 0) {
        *status = {Code::no_memory, ENOMEM, -1};
        return Got::none;
      }
      if (evictions != nullptr && shard.may_leave()) {
        *index = shard.victim(key, MayLeave(*this));
        const Got got = *index == no_frame ? Got::none : retire(file, *index, key, count, index);
        if (got != Got::none) return got;
      }
      if (!wait) return Got::none;
      lock.wait();
      return Got::again;
  }
  if (close_clean(*index)) {
    replace(file, *index, key, count);
    return Got::placed;
  }
  if (evictions == nullptr) return Got::none;
  const Got got = retire(file, *index, key, count, index);
  return got == Got::none ? evictions->take(file, key, *count, *index, status) : got;
}

// Closes a frame. False: its page has dirty bytes, and the frame stays open.
template <typename Driver>
bool Cache<Driver>::close_clean(FrameIndex index) const {
  const Frame& frame = this->frame(index);
  if (frame.may_be_dirty()) return false;
  close_frame(index);
  const bool clean = !frame.may_be_dirty();  // or published while it was being closed
  if (!clean) open_frame(index);
  return clean;
}

// Frames whose pages may leave in the background: those under commit, too.
template <typename Driver>
class Cache<Driver>::MayLeave final : public FrameStates {
 public:
  explicit MayLeave(const Cache& cache) : cache_(cache) {}
  bool evictable(FrameIndex index) const override {
    return cache_.frame(index).io != FrameIo::filling;
  }
  CommitShape commit_shape(FrameIndex index) const override { return cache_.commit_shape(index); }

 private:
  const Cache& cache_;
};

// Lets a dirty victim leave in the background, and gives the page a spare frame, closed and empty.
// none: there is no background, or no spare frame. *index: the page's frame, else the victim's.
template <typename Driver>
typename Cache<Driver>::Got Cache<Driver>::retire(OpenFile& file, FrameIndex victim, PageKey key,
                                                  bool* count, FrameIndex* index) {
  Shard& shard = arena_.shard(shard_number(key));
  const Acquired spare = shard.acquire_spare();
  if (spare.outcome == Acquire::none || !file.write_back_in_background()) return Got::none;
  if (spare.outcome == Acquire::grow) {
    grow(shard);
    return Got::again;
  }
  *index = spare.frame;
  empty_page(*index);
  shard.retire(victim, *index, key, file.slot());
  count_eviction(file, count);
  return Got::placed;
}

// Puts a page, still empty, into a victim's closed frame.
template <typename Driver>
void Cache<Driver>::replace(OpenFile& file, FrameIndex index, PageKey key, bool* count) {
  empty_page(index);
  arena_.shard(shard_number(key)).replace(index, key, file.slot());
  count_eviction(file, count);
}

template <typename Driver>
void Cache<Driver>::count_eviction(OpenFile& file, bool* count) {
  ++file.statistics().evictions;
  if (*count) ++file.statistics().misses;
  *count = false;
}

template <typename Driver>
Status Cache<Driver>::page_for_write(OpenFile& file, Extent part, bool* count, Evictions& evictions,
                                     Translation* translation, Got* got) {
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
      const bool may_wait = evictions.empty();
      *got = obtain(file, lock, key, count, may_wait, &evictions, &index, &status);
      if (*got == Got::again) continue;
      if (*got == Got::none || *got == Got::leaving) return status;
      if (must_fill && *got == Got::resident) {
        must_fill = !kind().holds(state(index), page_size(), whole_page());
      }
      if (must_fill) {
        if (frame(index).io != FrameIo::idle) {
          *got = Got::none;
          if (!may_wait) return {};
          lock.wait();
          continue;
        }
        claims.begin({index, page_start, *got == Got::placed});
      } else {
        if (*got == Got::placed) open_frame(index);
        note_writer(file, index);
        *translation = this->translation(index, page_start);
      }
      *got = Got::resident;
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
Status Cache<Driver>::write_locked(OpenFile& file, Extent part, Source source, bool* count,
                                   Evictions& evictions, Got* got) {
  const int64_t page_start = round_down(part.offset, page_size());
  const PageKey key = key_of(file, part.offset / page_size());
  const Extent region{part.offset - page_start, part.length};
  Status status;
  for (;;) {
    const bool may_wait = evictions.empty();
    FrameIndex index;
    {
      Locked lock(*this, shard_number(key));
      *got = obtain(file, lock, key, count, may_wait, &evictions, &index, &status);
      if (*got == Got::again) continue;
      if (*got == Got::none || *got == Got::leaving) return status;
      if (*got == Got::placed) open_frame(index);
      *got = Got::resident;
      note_writer(file, index);
      copy_in(index, region, source);
      if (kind().publish(state(index), page_size(), region)) {
        note_dirty(frame(index), file.writer());
        return {};
      }
      *got = Got::none;
      if (!may_wait) return {};
      if (frame(index).io != FrameIo::idle) {
        lock.wait();
        continue;
      }
      if (!frame(index).may_be_dirty()) {  // full of clean regions
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
  note_use(file, index);
  copy_out(index, region, target);
  if (kind().lock_free()) *translation = this->translation(index, page_start);
  return true;
}

template <typename Driver>
template <typename Matches>
bool Cache<Driver>::any_frame(const Matches& matches) {
  for (uint32_t s = 0; s < arena_.shards(); ++s) {
    const Locked lock(*this, s);
    const ShardState& shard = arena_.shard(s).state();
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      if (matches(frame(f))) return true;
    }
  }
  return false;
}

template <typename Driver>
bool Cache<Driver>::any_held(const OpenFile& file, Extent range) {
  if (!has_frames()) return false;
  const int64_t first = range.offset / page_size();
  const int64_t last = (range.end() - 1) / page_size();
  if (last - first >= frames())
    return any_frame([&](const Frame& frame) { return meets(frame, file.state().id, range); });
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
    if (frame(index).closed() || frame(index).io == FrameIo::filling || missing.size() != 1 ||
        missing.front() != region)
      return true;
  }
  return false;
}

template <typename Driver>
ShardClock Cache<Driver>::clock(const OpenFile& file, int64_t page) {
  const uint32_t shard = shard_number(key_of(file, page));
  const Locked lock(*this, shard);
  return {shard, arena_.shard(shard).now()};
}

template <typename Driver>
uint64_t Cache<Driver>::foresee(const OpenFile& file, int64_t page, double ahead) {
  const PageKey key = key_of(file, page);
  Shard& shard = arena_.shard(shard_number(key));
  const Locked lock(*this, shard_number(key));
  const uint64_t when = shard.now() + std::max<uint64_t>(static_cast<uint64_t>(ahead), 1);
  shard.foresee(key, when);
  return when;
}

template <typename Driver>
void Cache<Driver>::forget(const OpenFile& file, int64_t page, uint64_t when) {
  const PageKey key = key_of(file, page);
  const Locked lock(*this, shard_number(key));
  arena_.shard(shard_number(key)).forget(key, when);
}

// Whether the cache has, or is fetching, all bytes of a page's region.
template <typename Driver>
bool Cache<Driver>::holds(PageKey key, Extent region) {
  const Shard& shard = arena_.shard(shard_number(key));
  if (!shard.may_hold(key)) return false;
  const Locked lock(*this, shard_number(key));
  const FrameIndex index = shard.find(key);
  if (index == no_frame) return false;
  if (frame(index).io == FrameIo::filling) return true;
  return !frame(index).closed() && kind().holds(state(index), page_size(), region);
}

template <typename Driver>
bool Cache<Driver>::any_filling(const OpenFile& file, Extent range) {
  if (!has_frames()) return false;
  for (int64_t page = range.offset / page_size(); page * page_size() < range.end(); ++page) {
    const PageKey key = key_of(file, page);
    const Shard& shard = arena_.shard(shard_number(key));
    if (!shard.may_hold(key)) continue;
    const Locked lock(*this, shard_number(key));
    const FrameIndex index = shard.find(key);
    if (index != no_frame && frame(index).io == FrameIo::filling) return true;
  }
  return false;
}

template <typename Driver>
int64_t Cache<Driver>::held_run(const OpenFile& file, Extent range, bool* held) {
  *held = false;
  if (!has_frames()) return range.length;
  int64_t at = range.offset;
  while (at < range.end()) {
    const int64_t page_start = round_down(at, page_size());
    const int64_t end = std::min(range.end(), page_start + page_size());
    const bool holds = this->holds(key_of(file, at / page_size()), {at - page_start, end - at});
    if (at == range.offset) *held = holds;
    if (holds != *held) break;
    at = end;
  }
  return at - range.offset;
}

}  // namespace forebay
