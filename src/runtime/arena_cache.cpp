// Frames of one arena: finding, placing and evicting pages, and the writes and resident reads that
// need no storage. Fills stand in arena_fill.cpp, commits in arena_commit.cpp.

#include "runtime/arena_cache.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "runtime/arena_lock.h"
#include "runtime/memory_groups.h"

namespace forebay::runtime {

namespace {

constexpr std::size_t growth_bytes = 1 << 20;  // memory is reserved in steps of this size

}  // namespace

std::unique_ptr<ArenaCache> ArenaCache::join(const std::string& path, uint32_t number,
                                             const ArenaConfig& config, Registry* registry,
                                             Registry* job, uint32_t process, Callbacks callbacks,
                                             Status* status) {
  std::unique_ptr<ArenaCache> cache(new ArenaCache);
  cache->registry_ = registry;
  cache->job_ = job;
  cache->number_ = number;
  cache->process_ = process;
  cache->callbacks_ = std::move(callbacks);
  cache->kind_ = page_kinds()[config.page_kind];
  const PolicySpec& policy = policies()[config.policy];
  ArenaShape& shape = cache->shape_;
  shape = shape_arena(config.capacity_bytes, config.page_size, config.shards);
  shape.page_state_bytes = cache->kind_->state_bytes(config.page_size);
  shape.policy_state_bytes = policy.state_bytes(shape.frames_per_shard());
  shape.shard_state_bytes = sizeof(ShardState);
  shape.frame_state_bytes = sizeof(Frame);
  shape.driver_shard_bytes = sizeof(DriverShard);
  cache->layout_ = std::make_unique<ArenaLayout>(shape, sizeof(Header));
  const ArenaLayout& layout = *cache->layout_;

  const auto attach = [&](std::byte* base) {
    cache->header_ = reinterpret_cast<Header*>(base);
    cache->frames_ = reinterpret_cast<Frame*>(base + layout.frames);
    auto* states = reinterpret_cast<ShardState*>(base + layout.shards);
    auto* buckets = reinterpret_cast<FrameIndex*>(base + layout.buckets);
    cache->shards_.clear();
    for (uint32_t s = 0; s < shape.shards; ++s) {
      cache->shards_.emplace_back(states + s, buckets + std::size_t{s} * shape.buckets_per_shard(),
                                  cache->frames_,
                                  policy.attach(base + layout.policies + s * layout.policy_stride,
                                                shape.frames_per_shard()));
    }
  };
  cache->segment_ = SharedSegment::join(
      path, layout.total, layout.frames,
      [&](std::byte* base) {
        attach(base);
        new (cache->header_) Header{};
        for (uint32_t s = 0; s < shape.shards; ++s) {
          auto* driver = new (base + layout.driver + s * layout.driver_stride) DriverShard;
          driver->lock.init();
          cache->shards_[s].reset(s * shape.frames_per_shard(), shape.frames_per_shard(),
                                  shape.buckets_per_shard());
        }
      },
      status);
  if (cache->segment_ == nullptr) return nullptr;
  attach(cache->segment_->base());
  cache->populated_ = std::make_unique<std::atomic<bool>[]>(shape.frames);
  return cache;
}

std::byte* ArenaCache::data(FrameIndex frame) const {
  return segment_->base() + layout_->data + static_cast<std::size_t>(shape_.page_size) * frame;
}

void* ArenaCache::state(FrameIndex frame) const {
  return segment_->base() + layout_->page_states + layout_->page_state_stride * frame;
}

Translation ArenaCache::translation(FrameIndex frame, int64_t page_start) const {
  Translation t;
  t.page_start = page_start;
  t.length = shape_.page_size;
  t.frame = frames_ + frame;
  t.data = data(frame);
  t.state = state(frame);
  t.tag = frames_[frame].tag.load(std::memory_order_relaxed);
  t.busy = busy_word(frame);
  return t;
}

uint64_t ArenaCache::busy_word(FrameIndex frame) const {
  return (static_cast<uint64_t>(number_) << 32) | (frame + 1ull);
}

void ArenaCache::drain(FrameIndex frame) const {
  const uint64_t word = busy_word(frame);
  const uint32_t seats = registry_->seats_in_use.load(std::memory_order_acquire);
  for (uint32_t s = 0; s < seats; ++s) {
    Seat& seat = registry_->seats[s];
    Backoff backoff;
    while (seat.busy.load(std::memory_order_seq_cst) == word) {
      // A process that died in mid-copy left nothing published: its seat is given back.
      if (backoff.pause() && !alive(registry_->processes[seat.process].id)) {
        uint64_t expected = word;
        seat.busy.compare_exchange_strong(expected, 0);
      }
    }
  }
}

void ArenaCache::close_frame(FrameIndex frame) const {
  frames_[frame].tag.fetch_add(1, std::memory_order_seq_cst);
  drain(frame);
}

void ArenaCache::open_frame(FrameIndex frame) const {
  frames_[frame].tag.fetch_add(1, std::memory_order_release);
}

void ArenaCache::note_dirty(Frame& frame) {
  if (frame.dirty_hint.exchange(1, std::memory_order_seq_cst) == 0) {
    header_->dirty_frames.fetch_add(1, std::memory_order_relaxed);
  }
}

void ArenaCache::forget_dirty(Frame& frame) {
  if (frame.dirty_hint.exchange(0, std::memory_order_seq_cst) == 1) {
    header_->dirty_frames.fetch_sub(1, std::memory_order_relaxed);
  }
}

bool ArenaCache::grow(Shard& shard) {
  const ShardState& s = shard.state();
  const std::size_t page = static_cast<std::size_t>(shape_.page_size);
  const auto step = static_cast<uint32_t>(
      std::clamp<std::size_t>(growth_bytes / page, 1, s.frame_count - s.usable));
  const FrameIndex first = s.first_frame + s.usable;
  callbacks_.before_growth();
  for (uint32_t frames : {step, 1u}) {
    const std::size_t bytes = (page + layout_->page_state_stride) * frames;
    if (MemoryGroups::mine().have_room_for(static_cast<int64_t>(bytes)) &&
        segment_->reserve(layout_->frames + sizeof(Frame) * first, sizeof(Frame) * frames) &&
        segment_->reserve(layout_->data + page * first, page * frames) &&
        segment_->reserve(layout_->page_states + layout_->page_state_stride * first,
                          layout_->page_state_stride * frames)) {
      for (FrameIndex f = first; f < first + frames; ++f) new (frames_ + f) Frame;
      header_->usable_frames.fetch_add(frames);
      shard.add_usable(frames);
      return true;
    }
  }
  shard.stop_growing();
  return false;
}

// Mapping a page at once costs a seventh of faulting its memory in bit by bit.
void ArenaCache::populate(FrameIndex frame) {
  if (populated_[frame].exchange(true, std::memory_order_relaxed)) return;
  segment_->populate(layout_->data + static_cast<std::size_t>(page_size()) * frame,
                     static_cast<std::size_t>(page_size()));
  segment_->populate(layout_->page_states + layout_->page_state_stride * frame,
                     layout_->page_state_stride);
}

CommitShape ArenaCache::commit_shape(FrameIndex frame) const {
  if (frames_[frame].dirty_hint.load(std::memory_order_relaxed) == 0) return {};
  Regions regions;
  kind_->dirty(state(frame), page_size(), regions);
  return shape_of(regions, page_size());
}

ArenaCache::Got ArenaCache::obtain(const Requester& who, Locked& lock, PageKey key, bool* count,
                                   bool wait, FrameIndex* frame, Status* status) {
  Shard& shard = shards_[shard_of(key, shape_.shards)];
  const Acquired acquired = shard.acquire(key, *count, *this);
  *frame = acquired.frame;
  switch (acquired.outcome) {
    case Acquire::hit:
      if (*count) ++who.statistics->hits;
      *count = false;
      if (!frames_[*frame].closed()) return Got::resident;
      if (!wait) return Got::none;
      lock.wait();
      return Got::again;
    case Acquire::empty:
      kind_->reset(state(*frame), shape_.page_size);
      shard.place(*frame, key, who.file_slot);
      if (*count) ++who.statistics->misses;
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
  Frame& victim = frames_[*frame];
  const auto dirty = [&] { return victim.dirty_hint.load(std::memory_order_seq_cst) != 0; };
  bool must_commit = dirty();
  if (!must_commit) {
    close_frame(*frame);
    must_commit = dirty();  // published while it was being closed
    if (must_commit) open_frame(*frame);
  }
  if (must_commit) {
    if (!wait) return Got::none;
    lock.pause();
    *status = commit_around(who, *frame);
    lock.resume();
    return status->ok() ? Got::again : Got::none;
  }
  kind_->reset(state(*frame), shape_.page_size);
  shard.replace(*frame, key, who.file_slot);
  ++who.statistics->evictions;
  if (*count) ++who.statistics->misses;
  *count = false;
  return Got::placed;
}

// Named before it is begun, so that whoever finds it begun knows whose it is.
void ArenaCache::begin_io(FrameIndex frame, FrameIo io) const {
  frames_[frame].io_process = process_;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  frames_[frame].io = io;
}

void ArenaCache::release_frame(FrameIndex frame) {
  forget_dirty(frames_[frame]);
  shards_[frame / shape_.frames_per_shard()].release(frame);
}

Status ArenaCache::page_for_write(const Requester& who, Extent part, bool count,
                                  Translation* translation) {
  const int64_t page = part.offset / page_size();
  const int64_t page_start = page * page_size();
  const PageKey key = key_of(who, page);
  bool must_fill = kind_->fill_before_write() && part.length < page_size() && who.can_read_storage;
  Status status;
  for (;;) {
    Filling claims(*this, must_fill ? 1 : 0);
    FrameIndex frame;
    {
      Locked lock(*this, shard_of(key, shape_.shards));
      const Got got = obtain(who, lock, key, &count, true, &frame, &status);
      if (got == Got::again) continue;
      if (got == Got::none) return status;
      const Frame& f = frames_[frame];
      if (must_fill && got == Got::resident) {
        must_fill = !kind_->holds(state(frame), page_size(), {0, page_size()});
      }
      if (must_fill) {
        if (f.io != FrameIo::idle) {
          lock.wait();
          continue;
        }
        claims.begin({frame, page_start, got == Got::placed});
      } else {
        if (got == Got::placed) open_frame(frame);
        *translation = this->translation(frame, page_start);
      }
    }
    populate(frame);
    if (claims.empty()) return {};
    int64_t ignored;
    status = fill(who, claims, {page_start, 0}, nullptr, true, &ignored);
    if (!status.ok()) return status;
    must_fill = false;  // what lies beyond the end of the file stays missing
  }
}

Status ArenaCache::write_locked(const Requester& who, Extent part, const std::byte* memory,
                                bool count) {
  const int64_t page_start = round_down(part.offset, page_size());
  const PageKey key = key_of(who, part.offset / page_size());
  const Extent region{part.offset - page_start, part.length};
  Status status;
  for (;;) {
    FrameIndex frame;
    {
      Locked lock(*this, shard_of(key, shape_.shards));
      const Got got = obtain(who, lock, key, &count, true, &frame, &status);
      if (got == Got::again) continue;
      if (got == Got::none) return status;
      if (got == Got::placed) open_frame(frame);
      std::memcpy(data(frame) + region.offset, memory, static_cast<std::size_t>(region.length));
      if (kind_->publish(state(frame), page_size(), region)) {
        note_dirty(frames_[frame]);
        return {};
      }
      if (frames_[frame].io != FrameIo::idle) {
        lock.wait();
        continue;
      }
      if (frames_[frame].dirty_hint.load() == 0) {  // full of clean regions
        kind_->drop_clean(state(frame), page_size());
        continue;
      }
    }
    status = commit_frames(who, {frame}, key.file, true);
    if (!status.ok()) return status;
  }
}

bool ArenaCache::read_resident(const Requester& who, Extent part, std::byte* memory, bool count,
                               Translation* translation) {
  const int64_t page_start = round_down(part.offset, page_size());
  const PageKey key = key_of(who, part.offset / page_size());
  const Extent region{part.offset - page_start, part.length};
  Locked lock(*this, shard_of(key, shape_.shards));
  Shard& shard = shards_[shard_of(key, shape_.shards)];
  const FrameIndex frame = shard.find(key);
  if (frame == no_frame || frames_[frame].closed()) return false;
  if (!kind_->holds(state(frame), page_size(), region)) return false;
  if (count) {
    shard.hit(frame);
    ++who.statistics->hits;
  }
  std::memcpy(memory, data(frame) + region.offset, static_cast<std::size_t>(region.length));
  if (kind_->lock_free()) *translation = this->translation(frame, page_start);
  return true;
}

bool ArenaCache::any_frame(uint64_t file, Extent range) {
  for (uint32_t s = 0; s < shape_.shards; ++s) {
    const Locked lock(*this, s);
    const ShardState& shard = shards_[s].state();
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      if (meets(frames_[f], file, range)) return true;
    }
  }
  return false;
}

bool ArenaCache::any_held(const Requester& who, Extent range) {
  if (!has_frames()) return false;
  const int64_t first = range.offset / page_size();
  const int64_t last = (range.end() - 1) / page_size();
  if (last - first >= shape_.frames) return any_frame(who.file->id, range);
  Regions missing;
  for (int64_t page = first; page <= last; ++page) {
    const PageKey key = key_of(who, page);
    const uint32_t shard = shard_of(key, shape_.shards);
    if (!shards_[shard].may_hold(key)) continue;
    const Locked lock(*this, shard);
    const FrameIndex frame = shards_[shard].find(key);
    if (frame == no_frame) continue;
    const int64_t page_start = page * page_size();
    Extent region = intersect(range, {page_start, page_size()});
    region.offset -= page_start;
    missing.clear();
    kind_->missing(state(frame), page_size(), region, missing);
    if (frames_[frame].closed() || missing.size() != 1 || missing.front() != region) return true;
  }
  return false;
}

int64_t ArenaCache::written_end(const Requester& who) const {
  int64_t end = who.file->unstored_end.load(std::memory_order_acquire);
  const uint32_t seats = registry_->seats_in_use.load(std::memory_order_acquire);
  for (uint32_t s = 0; s < seats; ++s) {
    const Seat& seat = registry_->seats[s];
    if (seat.file.load(std::memory_order_acquire) != who.file_slot) continue;
    end = std::max(end, seat.end.load(std::memory_order_acquire));
  }
  return end;
}

}  // namespace forebay::runtime
