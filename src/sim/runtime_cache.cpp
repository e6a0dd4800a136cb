// Each member stands for the one of the same name in runtime/cached_file.cpp or
// runtime/arena_*.cpp, where one thing happens at a time.
#include "sim/runtime_cache.h"

#include <algorithm>

#include "engine/rules.h"

namespace forebay::sim {

RuntimeCache::RuntimeCache(const RuntimeSettings& settings)
    : settings_(settings),
      shards_(*settings.policy,
              shape_arena(settings.capacity_bytes, settings.page_size, settings.shards)),
      frames_(shards_.frames()),
      states_(frames_),
      pages_(frames_) {}

void* RuntimeCache::page(FrameIndex frame) const {
  std::unique_ptr<uint64_t[]>& state = pages_[frame];
  if (state == nullptr) {
    const std::size_t words = (settings_.page_kind->state_bytes(settings_.page_size) + 7) / 8;
    state = std::make_unique<uint64_t[]>(words);
    settings_.page_kind->reset(state.get(), settings_.page_size);
  }
  return state.get();
}

CommitShape RuntimeCache::commit_shape(FrameIndex frame) const {
  if (!states_[frame].dirty) return {};
  Regions regions;
  settings_.page_kind->dirty(page(frame), settings_.page_size, regions);
  return shape_of(regions, settings_.page_size);
}

// Files and handles ----------------------------------------------------------------------------

RuntimeCache::HandleIndex RuntimeCache::open(uint64_t file, bool reads, int64_t bytes) {
  const auto known = std::find_if(files_.begin(), files_.end(), [file](const File& entry) {
    return entry.handles > 0 && entry.number == file;
  });
  auto slot = known;
  if (known == files_.end()) {
    slot = std::find_if(files_.begin(), files_.end(),
                        [](const File& entry) { return entry.handles == 0; });
    if (slot == files_.end()) slot = files_.insert(files_.end(), File{});
    const auto index = static_cast<uint64_t>(slot - files_.begin());
    *slot = {file, generation_++ * files_at_once + index, 0, 0};
  }
  ++slot->handles;
  slot->end = std::max(slot->end, bytes);
  Handle handle;
  handle.file = static_cast<uint32_t>(slot - files_.begin());
  const int64_t window = read_ahead_window(settings_.read_ahead_bytes, capacity_bytes());
  if (reads && window > 0)
    handle.predictor = settings_.predictor->make(window, settings_.page_size);
  if (slot->handles > 1) drop(*slot, {0, INT64_MAX}, false);
  handles_.push_back(std::move(handle));
  return static_cast<HandleIndex>(handles_.size() - 1);
}

void RuntimeCache::close(HandleIndex handle, bool discard) {
  File& file = files_[handles_[handle].file];
  if (!discard) commit_range(file, {0, INT64_MAX});
  if (file.handles == 1) drop(file, {0, INT64_MAX}, true);
  --file.handles;
}

void RuntimeCache::commit(HandleIndex handle) {
  commit_range(files_[handles_[handle].file], {0, INT64_MAX});
}

void RuntimeCache::drop_clean(HandleIndex handle) {
  drop(files_[handles_[handle].file], {0, INT64_MAX}, false);
}

void RuntimeCache::truncate(HandleIndex handle, int64_t bytes) {
  File& file = files_[handles_[handle].file];
  for (FrameIndex f = 0; f < frames_; ++f) {
    if (!meets(f, file, {bytes, INT64_MAX - bytes})) continue;
    const int64_t page_start = shards_.key(f).page * settings_.page_size;
    ++states_[f].opened;
    if (page_start >= bytes) {
      release(f);
    } else {
      settings_.page_kind->truncate(page(f), settings_.page_size, bytes - page_start);
      ++states_[f].opened;
    }
  }
  file.end = std::min(file.end, bytes);
}

void RuntimeCache::resize(HandleIndex handle, int64_t bytes) {
  files_[handles_[handle].file].end = bytes;
}

// Accesses -------------------------------------------------------------------------------------

bool RuntimeCache::translated(const Handle& handle, Extent extent) const {
  if (handle.translated == no_frame || states_[handle.translated].opened != handle.opened)
    return false;
  const int64_t start = handle.last_page * settings_.page_size;
  return extent.offset >= start && extent.end() <= start + settings_.page_size;
}

bool RuntimeCache::continues_page(Handle& handle, int64_t offset) {
  const int64_t page_number = offset / settings_.page_size;
  const bool same = page_number == handle.last_page;
  handle.last_page = page_number;
  if (!same) handle.translated = no_frame;
  return same;
}

void RuntimeCache::publish(FrameIndex frame, Extent region) {
  settings_.page_kind->publish(page(frame), settings_.page_size, region);
  if (states_[frame].dirty) return;
  states_[frame].dirty = true;
  ++dirty_frames_;
}

void RuntimeCache::write(HandleIndex index, Extent extent) {
  if (extent.empty()) return;
  Handle& handle = handles_[index];
  File& file = files_[handle.file];
  if (translated(handle, extent)) {
    publish(handle.translated,
            {extent.offset - handle.last_page * settings_.page_size, extent.length});
  } else if (goes_past(extent.length, settings_.bypass_bytes, capacity_bytes())) {
    counts_.bypass_bytes += extent.length;
    if (any_held(file, extent)) commit_range(file, extent);
    if (any_held(file, extent)) drop(file, extent, false);
  } else {
    for (Extent rest = extent; !rest.empty();) {
      const int64_t page_end = round_down(rest.offset, settings_.page_size) + settings_.page_size;
      const Extent part{rest.offset, std::min(rest.end(), page_end) - rest.offset};
      write_part(handle, part);
      rest = {part.end(), rest.end() - part.end()};
    }
  }
  file.end = std::max(file.end, extent.end());
}

void RuntimeCache::write_part(Handle& handle, Extent part) {
  const bool count = !continues_page(handle, part.offset);
  if (!settings_.page_kind->lock_free()) {
    write_locked(handle, part, count);
  } else {
    if (!translated(handle, part)) place_for_write(handle, part, count);
    publish(handle.translated, {part.offset % settings_.page_size, part.length});
  }
  write_behind(handle);
}

RuntimeCache::Got RuntimeCache::obtain(PageKey key, bool* count, bool wait, FrameIndex* frame) {
  for (;;) {
    BasicShard<FrameSlot>& shard = shards_.of(key);
    const Acquired acquired = shard.acquire(key, *count, *this);
    *frame = acquired.frame;
    if (acquired.outcome == Acquire::hit) {
      if (*count) ++counts_.hits;
      *count = false;
      return Got::resident;
    }
    if (acquired.outcome == Acquire::none) return Got::none;
    if (acquired.outcome == Acquire::victim) {
      if (states_[*frame].dirty) {
        if (!wait) return Got::none;
        commit_around(*frame);
        continue;
      }
      ++states_[*frame].opened;
      shard.replace(*frame, key, 0);
      ++counts_.evictions;
    } else {
      shard.place(*frame, key, 0);
    }
    settings_.page_kind->reset(page(*frame), settings_.page_size);
    if (*count) ++counts_.misses;
    *count = false;
    return Got::placed;
  }
}

void RuntimeCache::place_for_write(Handle& handle, Extent part, bool count) {
  const File& file = files_[handle.file];
  const int64_t number = part.offset / settings_.page_size;
  const int64_t page_start = number * settings_.page_size;
  const PageKey key{file.id, number};
  bool must_fill = settings_.page_kind->fill_before_write() && part.length < settings_.page_size;
  for (;;) {
    FrameIndex frame = no_frame;
    const Got got = obtain(key, &count, true, &frame);
    if (must_fill && got == Got::resident)
      must_fill =
          !settings_.page_kind->holds(page(frame), settings_.page_size, {0, settings_.page_size});
    if (!must_fill) {
      if (got == Got::placed) ++states_[frame].opened;
      handle.translated = frame;
      handle.opened = states_[frame].opened;
      return;
    }
    states_[frame].filling = true;
    std::vector<Claim> claims{{frame, number, got == Got::placed}};
    fill(file, claims, {page_start, 0}, true);
    must_fill = false;
  }
}

void RuntimeCache::write_locked(Handle& handle, Extent part, bool count) {
  const PageKey key{files_[handle.file].id, part.offset / settings_.page_size};
  const Extent region{part.offset % settings_.page_size, part.length};
  for (;;) {
    FrameIndex frame = no_frame;
    if (obtain(key, &count, true, &frame) == Got::placed) ++states_[frame].opened;
    if (settings_.page_kind->publish(page(frame), settings_.page_size, region)) {
      if (!states_[frame].dirty) ++dirty_frames_;
      states_[frame].dirty = true;
      return;
    }
    if (states_[frame].dirty) {
      commit_frame(frame);
    } else {
      settings_.page_kind->drop_clean(page(frame), settings_.page_size);
    }
  }
}

int64_t RuntimeCache::read(HandleIndex index, Extent extent) {
  if (extent.empty()) return 0;
  Handle& handle = handles_[index];
  const File& file = files_[handle.file];
  const bool past = goes_past(extent.length, settings_.bypass_bytes, capacity_bytes());
  int64_t got = extent.length;
  const bool held =
      translated(handle, extent) &&
      settings_.page_kind->holds(page(handle.translated), settings_.page_size,
                                 {extent.offset % settings_.page_size, extent.length});
  if (!held && past) {
    counts_.bypass_bytes += extent.length;
    if (any_held(file, extent)) commit_range(file, extent);
    got = std::clamp<int64_t>(file.end - extent.offset, 0, extent.length);
  } else if (!held) {
    got = read_pages(handle, extent);
  }
  if (got > 0 && !past) look_ahead(handle, extent);
  return got;
}

int64_t RuntimeCache::read_pages(Handle& handle, Extent extent) {
  const File& file = files_[handle.file];
  const int64_t first = extent.offset / settings_.page_size;
  const int64_t last = (extent.end() - 1) / settings_.page_size;
  const bool same_page = continues_page(handle, extent.offset);
  if (first == last) {
    const PageKey key{file.id, first};
    const FrameIndex frame = find(key);
    if (frame != no_frame &&
        settings_.page_kind->holds(page(frame), settings_.page_size,
                                   {extent.offset % settings_.page_size, extent.length})) {
      if (!same_page) {
        shards_.of(key).hit(frame);
        ++counts_.hits;
      }
      if (settings_.page_kind->lock_free()) {
        handle.translated = frame;
        handle.opened = states_[frame].opened;
      }
      return extent.length;
    }
  }
  const bool whole_pages = handle.predictor && handle.predictor->predicts();
  const int64_t got = read_missing(handle, extent, whole_pages, !same_page);
  continues_page(handle, extent.end() - 1);
  return got;
}

int64_t RuntimeCache::read_missing(Handle& handle, Extent wanted, bool whole_pages,
                                   bool count_first) {
  const File& file = files_[handle.file];
  const int64_t page_size = settings_.page_size;
  const int64_t pages = (wanted.end() - 1) / page_size - wanted.offset / page_size + 1;
  const int64_t most_pages = std::min(pages, pages_a_fill(frames_));
  std::vector<Claim> claims;
  for (int64_t at = wanted.offset; at < wanted.end();) {
    claims.clear();
    const int64_t group_begin = at;
    while (at < wanted.end() && static_cast<int64_t>(claims.size()) < most_pages) {
      const int64_t number = at / page_size;
      const Extent part{at, std::min(wanted.end(), (number + 1) * page_size) - at};
      const Extent region{at - number * page_size, part.length};
      bool count = at != wanted.offset || count_first;
      FrameIndex frame = no_frame;
      const Got got = obtain({file.id, number}, &count, claims.empty(), &frame);
      if (got == Got::none) break;
      if (got == Got::placed || !settings_.page_kind->holds(page(frame), page_size, region)) {
        states_[frame].filling = true;
        claims.push_back({frame, number, got == Got::placed});
      }
      at += part.length;
    }
    if (claims.empty()) continue;
    const Extent group{group_begin, at - group_begin};
    const int64_t got = fill(file, claims, group, whole_pages);
    if (got < group.length) return group_begin + got - wanted.offset;
  }
  return wanted.length;
}

void RuntimeCache::look_ahead(Handle& handle, Extent extent) {
  if (!handle.predictor) return;
  PageCursor pages(handle.predictor->access(extent), settings_.page_size);
  while (prefetch(files_[handle.file], pages)) {
  }
}

bool RuntimeCache::prefetch(const File& file, PageCursor& pages) {
  const int64_t most = pages_a_fill(frames_);
  std::vector<Claim> claims;
  bool frames_left = true;
  for (; !pages.done() && frames_left && std::ssize(claims) < most; pages.advance()) {
    const PageKey key{file.id, pages.page()};
    if (find(key) != no_frame) continue;
    FrameIndex frame = no_frame;
    bool count = false;
    frames_left = obtain(key, &count, false, &frame) == Got::placed;
    if (!frames_left) continue;
    states_[frame].filling = true;
    claims.push_back({frame, pages.page(), true});
  }
  if (!claims.empty()) fill(file, claims, {}, true);
  return frames_left && !pages.done();
}

// Bytes of `wanted` before the end of the file. Fetched bytes are counted as storage would deliver
// them where it has all of the file.
int64_t RuntimeCache::fill(const File& file, std::vector<Claim>& claims, Extent wanted,
                           bool whole_pages) {
  const int64_t page_size = settings_.page_size;
  const PageKind& kind = *settings_.page_kind;
  for (const Claim& claim : claims) {
    const Extent whole{claim.page * page_size, page_size};
    Extent need = fetched_of(whole, wanted, whole_pages);
    void* const state = page(claim.frame);
    if (!claim.fresh) {
      regions_.clear();
      kind.missing(state, page_size, {need.offset - whole.offset, need.length}, regions_);
      need.length = 0;
      if (!regions_.empty()) {
        need = {whole.offset + regions_.front().offset,
                regions_.back().end() - regions_.front().offset};
      }
    }
    const int64_t transferred = std::clamp<int64_t>(file.end - need.offset, 0, need.length);
    const Extent region{need.offset - whole.offset, transferred};
    counts_.fetched_bytes += transferred;
    states_[claim.frame].filling = false;
    if (claim.fresh) {
      if (transferred == 0) {
        release(claim.frame);
        continue;
      }
      kind.fill(state, page_size, region);
      ++states_[claim.frame].opened;
    } else if (transferred > 0) {
      states_[claim.frame].opened += 2;
      regions_.clear();
      kind.missing(state, page_size, region, regions_);
      for (const Extent& gap : regions_) kind.fill(state, page_size, gap);
    }
  }
  return std::clamp<int64_t>(std::min(wanted.end(), file.end) - wanted.offset, 0, wanted.length);
}

// Commits and forgetting -----------------------------------------------------------------------

void RuntimeCache::release(FrameIndex frame) {
  if (states_[frame].dirty) --dirty_frames_;
  states_[frame].dirty = false;
  shards_.holding(frame).release(frame);
}

bool RuntimeCache::meets(FrameIndex frame, const File& file, Extent range) const {
  const PageKey key = shards_.key(frame);
  return key.file == file.id &&
         !intersect({key.page * settings_.page_size, settings_.page_size}, range).empty();
}

bool RuntimeCache::any_held(const File& file, Extent range) {
  const int64_t first = range.offset / settings_.page_size;
  const int64_t last = (range.end() - 1) / settings_.page_size;
  if (last - first >= frames_) {
    for (FrameIndex f = 0; f < frames_; ++f) {
      if (meets(f, file, range)) return true;
    }
    return false;
  }
  for (int64_t number = first; number <= last; ++number) {
    const FrameIndex frame = find({file.id, number});
    if (frame == no_frame) continue;
    const int64_t page_start = number * settings_.page_size;
    Extent region = intersect(range, {page_start, settings_.page_size});
    region.offset -= page_start;
    regions_.clear();
    settings_.page_kind->missing(page(frame), settings_.page_size, region, regions_);
    if (regions_.size() != 1 || regions_.front() != region) return true;
  }
  return false;
}

void RuntimeCache::commit_frame(FrameIndex frame) {
  if (!states_[frame].dirty) return;
  states_[frame].dirty = false;
  --dirty_frames_;
  regions_.clear();
  settings_.page_kind->take_dirty(page(frame), settings_.page_size, regions_);
  for (const Extent& region : regions_) counts_.committed_bytes += region.length;
  if (!regions_.empty()) settings_.page_kind->settle(page(frame), settings_.page_size, true);
}

void RuntimeCache::commit_range(const File& file, Extent range) {
  if (dirty_frames_ == 0) return;
  for (FrameIndex f = 0; f < frames_; ++f) {
    if (states_[f].dirty && meets(f, file, range)) commit_frame(f);
  }
}

void RuntimeCache::commit_around(FrameIndex victim) {
  const PageKey key = shards_.key(victim);
  const int64_t most = pages_around_victim(settings_.commit_size_bytes, settings_.page_size);
  std::vector<FrameIndex> frames{victim};
  for (const int64_t direction : {int64_t{1}, int64_t{-1}}) {
    for (int64_t number = key.page + direction; static_cast<int64_t>(frames.size()) < most;
         number += direction) {
      const FrameIndex f = find({key.file, number});
      if (f == no_frame || !states_[f].dirty) break;
      frames.push_back(f);
    }
  }
  for (const FrameIndex f : frames) commit_frame(f);
}

void RuntimeCache::write_behind(const Handle& handle) {
  if (!settings_.write_behind) return;
  const DirtyBound bound(settings_.dirty_bound, frames_);
  if (dirty_frames_ > bound.begin()) commit_some(files_[handle.file], bound.begin());
}

void RuntimeCache::commit_some(const File& file, uint32_t target) {
  for (const Which which : {Which::full, Which::dirty}) {
    if (dirty_frames_ <= target) return;
    std::vector<std::pair<int64_t, FrameIndex>> found;
    for (FrameIndex f = 0; f < frames_; ++f) {
      if (!states_[f].dirty || !meets(f, file, {0, INT64_MAX})) continue;
      if (which == Which::full &&
          !settings_.page_kind->holds(page(f), settings_.page_size, {0, settings_.page_size}))
        continue;
      found.emplace_back(shards_.key(f).page, f);
    }
    std::sort(found.begin(), found.end());
    found.resize(std::min<std::size_t>(found.size(), dirty_frames_ - target));
    for (const auto& entry : found) commit_frame(entry.second);
  }
}

void RuntimeCache::drop(const File& file, Extent range, bool dirty_too) {
  for (FrameIndex f = 0; f < frames_; ++f) {
    if (!meets(f, file, range)) continue;
    ++states_[f].opened;
    if (!dirty_too && settings_.page_kind->any_dirty(page(f), settings_.page_size)) {
      settings_.page_kind->drop_clean(page(f), settings_.page_size);
      ++states_[f].opened;
    } else {
      release(f);
    }
  }
}

}  // namespace forebay::sim
