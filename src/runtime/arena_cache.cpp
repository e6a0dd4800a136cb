#include "runtime/arena_cache.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "runtime/clock.h"

namespace forebay::runtime {

namespace {

constexpr std::size_t growth_bytes = 1 << 20;  // memory is reserved in steps of this size
constexpr int64_t least_populated_page = 16 << 10;
constexpr int64_t fetch_unit = 4096;      // a random read fetches whole units
constexpr std::size_t most_claims = 256;  // frames filled or committed by one request list
constexpr int spins_before_yield = 64;
constexpr int yields_before_check = 10'000;

int64_t round_down(int64_t value, int64_t unit) { return value / unit * unit; }

}  // namespace

// A shard's lock, held from construction; wait() and pause() give it up in between.
class ArenaCache::Locked {
 public:
  Locked(ArenaCache& cache, uint32_t shard)
      : driver_(*reinterpret_cast<DriverShard*>(cache.segment_->base() + cache.layout_->driver +
                                                shard * cache.layout_->driver_stride)) {
    driver_.lock.lock();
  }
  ~Locked() {
    if (held_) driver_.lock.unlock();
    if (signal_) driver_.event.signal();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  void signal_when_done() { signal_ = true; }
  void pause() {
    driver_.lock.unlock();
    held_ = false;
    if (signal_) driver_.event.signal();
    signal_ = false;
  }
  void resume() {
    driver_.lock.lock();
    held_ = true;
  }
  void wait() {
    const uint32_t seen = driver_.event.now();
    pause();
    driver_.event.wait(seen);
    resume();
  }

 private:
  DriverShard& driver_;
  bool held_ = true;
  bool signal_ = false;
};

std::unique_ptr<ArenaCache> ArenaCache::join(const std::string& path, uint32_t number,
                                             const ArenaConfig& config, Registry* registry,
                                             StorageFinder finder, Status* status) {
  std::unique_ptr<ArenaCache> cache(new ArenaCache);
  cache->registry_ = registry;
  cache->number_ = number;
  cache->finder_ = std::move(finder);
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
      path, layout.total, layout.page_states,
      [&](std::byte* base) {
        attach(base);
        new (cache->header_) Header{};
        for (uint32_t f = 0; f < shape.frames; ++f) new (cache->frames_ + f) Frame;
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
    for (int spin = 0; seat.busy.load(std::memory_order_seq_cst) == word; ++spin) {
      if (spin < spins_before_yield) continue;
      sched_yield();
      // A process that died in mid-copy left nothing published: its seat is given back.
      if (spin % yields_before_check == 0 && kill(seat.process, 0) != 0 && errno == ESRCH) {
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
  for (uint32_t frames : {step, 1u}) {
    if (segment_->reserve(layout_->data + page * first, page * frames) &&
        segment_->reserve(layout_->page_states + layout_->page_state_stride * first,
                          layout_->page_state_stride * frames)) {
      shard.add_usable(frames);
      return true;
    }
  }
  shard.stop_growing();
  return false;
}

// Mapping a large page at once costs a tenth of faulting its memory in bit by bit.
void ArenaCache::populate(FrameIndex frame) {
  if (page_size() < least_populated_page) return;
  if (populated_[frame].exchange(true, std::memory_order_relaxed)) return;
  segment_->populate(layout_->data + static_cast<std::size_t>(page_size()) * frame,
                     static_cast<std::size_t>(page_size()));
  segment_->populate(layout_->page_states + layout_->page_state_stride * frame,
                     layout_->page_state_stride);
}

ArenaCache::Got ArenaCache::obtain(const Requester& who, Locked& lock, PageKey key, bool* count,
                                   bool wait, FrameIndex* frame, Status* status) {
  Shard& shard = shards_[shard_of(key, shape_.shards)];
  const Acquired acquired =
      shard.acquire(key, *count, [this](FrameIndex f) { return frames_[f].io == FrameIo::idle; });
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
  shard.replace(*frame, key, who.file_slot);
  kind_->reset(state(*frame), shape_.page_size);
  ++who.statistics->evictions;
  if (*count) ++who.statistics->misses;
  *count = false;
  return Got::placed;
}

// A dirty page of a file that this process may not write is left to those who may.
bool ArenaCache::evictable(const Requester& who, const Frame& frame) const {
  if (frame.io != FrameIo::idle) return false;
  if (frame.dirty_hint.load(std::memory_order_relaxed) == 0) return true;
  if (frame.key.file == who.file->id && who.can_write_storage) return true;
  return finder_(frame.file_slot, frame.key.file) != nullptr;
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
    std::vector<Claim> claims;
    FrameIndex frame;
    {
      Locked lock(*this, shard_of(key, shape_.shards));
      const Got got = obtain(who, lock, key, &count, true, &frame, &status);
      if (got == Got::again) continue;
      if (got == Got::none) return status;
      Frame& f = frames_[frame];
      if (must_fill && got == Got::resident) {
        must_fill = !kind_->holds(state(frame), page_size(), {0, page_size()});
      }
      if (must_fill) {
        if (f.io != FrameIo::idle) {
          lock.wait();
          continue;
        }
        f.io = FrameIo::filling;
        claims.push_back({frame, page_start, got == Got::placed});
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
    shard.acquire(key, true, [](FrameIndex) { return false; });
    ++who.statistics->hits;
  }
  std::memcpy(memory, data(frame) + region.offset, static_cast<std::size_t>(region.length));
  if (kind_->lock_free()) *translation = this->translation(frame, page_start);
  return true;
}

Status ArenaCache::read(const Requester& who, Extent wanted, std::byte* memory, bool whole_pages,
                        int64_t* got) {
  *got = 0;
  std::vector<Claim> claims;
  const int64_t most_pages =
      std::clamp<int64_t>(shape_.frames / 4, 1, static_cast<int64_t>(most_claims));
  for (int64_t at = wanted.offset; at < wanted.end();) {
    claims.clear();
    const int64_t group_begin = at;
    Status status;
    while (at < wanted.end() && static_cast<int64_t>(claims.size()) < most_pages) {
      const int64_t page_start = round_down(at, page_size());
      const Extent part{at, std::min(wanted.end(), page_start + page_size()) - at};
      const PageKey key = key_of(who, at / page_size());
      const Extent region{part.offset - page_start, part.length};
      bool count = true;
      bool next_page = false;
      while (!next_page) {
        Locked lock(*this, shard_of(key, shape_.shards));
        FrameIndex frame;
        const bool may_wait = claims.empty();
        const Got outcome = obtain(who, lock, key, &count, may_wait, &frame, &status);
        if (outcome == Got::again) continue;
        if (outcome == Got::none) break;
        if (outcome == Got::resident) {
          if (kind_->holds(state(frame), page_size(), region)) {
            std::memcpy(memory + (at - wanted.offset), data(frame) + region.offset,
                        static_cast<std::size_t>(region.length));
            next_page = true;
            continue;
          }
          if (frames_[frame].io != FrameIo::idle) {
            if (!may_wait) break;
            lock.wait();
            continue;
          }
        }
        frames_[frame].io = FrameIo::filling;
        claims.push_back({frame, page_start, outcome == Got::placed});
        next_page = true;
      }
      if (!next_page) break;
      at += part.length;
    }
    if (claims.empty() && at == group_begin) return status;  // no frame to be had
    if (!claims.empty()) {
      const Extent group{group_begin, at - group_begin};
      int64_t group_got = 0;
      status =
          fill(who, claims, group, memory + (group_begin - wanted.offset), whole_pages, &group_got);
      if (!status.ok()) return status;
      *got = group_begin + group_got - wanted.offset;
      if (group_got < group.length) return {};  // the end of the file
    } else {
      *got = at - wanted.offset;
    }
  }
  return {};
}

void ArenaCache::prefetch(const Requester& who, Extent range) {
  std::vector<Claim> claims;
  const int64_t first = range.offset / page_size();
  const int64_t last = (range.end() - 1) / page_size();
  for (int64_t page = first; page <= last && claims.size() < most_claims; ++page) {
    const PageKey key = key_of(who, page);
    bool again = true;
    while (again) {
      again = false;
      Locked lock(*this, shard_of(key, shape_.shards));
      if (shards_[shard_of(key, shape_.shards)].find(key) != no_frame) break;
      FrameIndex frame;
      Status status;
      bool count = false;
      const Got got = obtain(who, lock, key, &count, false, &frame, &status);
      if (got == Got::again) {
        again = true;
      } else if (got == Got::placed) {
        frames_[frame].io = FrameIo::filling;
        claims.push_back({frame, page * page_size(), true});
      } else {
        page = last;  // no frame without waiting: enough fetched ahead
      }
    }
  }
  int64_t ignored;
  if (!claims.empty()) {
    const Status status = fill(who, claims, {range.offset, 0}, nullptr, true, &ignored);
    (void)status;  // a read of these bytes will meet the failure itself
  }
}

// What one claim fetches, and where it is read to.
struct ArenaCache::Fetch {
  Extent extent;            // in the file; empty: nothing is missing
  std::byte* memory;        // of extent.offset
  int64_t transferred = 0;  // bytes of extent that storage had
};

std::vector<ArenaCache::Fetch> ArenaCache::plan_fetches(const std::vector<Claim>& claims,
                                                        Extent wanted, bool whole_pages,
                                                        std::vector<std::byte>& staging) const {
  std::vector<Fetch> fetches;
  std::size_t staged = 0;
  for (const Claim& claim : claims) staged += claim.fresh ? 0 : 1;
  staging.resize(staged * static_cast<std::size_t>(page_size()));
  std::byte* next_staging = staging.data();
  Regions gaps;
  for (const Claim& claim : claims) {
    const Extent page{claim.page_start, page_size()};
    Extent need = page;
    const Extent inside = intersect(page, wanted);
    if (!whole_pages && !inside.empty()) {
      const int64_t begin = round_down(inside.offset - page.offset, fetch_unit);
      const int64_t end = std::min(
          page.length, round_down(inside.end() - page.offset + fetch_unit - 1, fetch_unit));
      need = {page.offset + begin, end - begin};
    }
    if (claim.fresh) {
      fetches.push_back({need, data(claim.frame) + (need.offset - page.offset)});
      continue;
    }
    gaps.clear();
    kind_->missing(state(claim.frame), page_size(), {need.offset - page.offset, need.length}, gaps);
    Extent hull{need.offset, 0};
    if (!gaps.empty()) {
      hull = {page.offset + gaps.front().offset, gaps.back().end() - gaps.front().offset};
    }
    fetches.push_back({hull, next_staging + (hull.offset - page.offset)});
    next_staging += page_size();
  }
  return fetches;
}

Status ArenaCache::fetch(const Requester& who, std::vector<Fetch>& fetches) {
  std::vector<forebay::Segment> segments;
  std::vector<Request> requests;
  std::vector<std::size_t> first_fetch;
  segments.reserve(fetches.size());  // requests hold spans into it
  for (std::size_t i = 0; i < fetches.size(); ++i) {
    const Fetch& f = fetches[i];
    if (f.extent.empty()) continue;
    segments.push_back({f.memory, f.extent.length});
    const forebay::Segment* last = &segments.back();
    if (!requests.empty()) {
      Request& previous = requests.back();
      int64_t end = previous.offset;
      for (const auto& s : previous.segments) end += s.length;
      if (end == f.extent.offset) {
        previous.segments = {previous.segments.data(), previous.segments.size() + 1};
        continue;
      }
    }
    requests.push_back({f.extent.offset, {last, 1}});
    first_fetch.push_back(i);
  }
  if (requests.empty()) return {};
  std::vector<int64_t> transferred(requests.size());
  StorageCounters counters;
  const Status status = who.storage->read(requests, transferred, counters);
  who.statistics->read_requests += counters.requests;
  who.statistics->read_syscalls += counters.syscalls;
  for (std::size_t r = 0; r < requests.size(); ++r) {
    int64_t left = transferred[r];
    who.statistics->fetched_bytes += left;
    const std::size_t end = r + 1 < requests.size() ? first_fetch[r + 1] : fetches.size();
    for (std::size_t i = first_fetch[r]; i < end; ++i) {
      fetches[i].transferred = std::min(left, fetches[i].extent.length);
      left -= fetches[i].transferred;
    }
  }
  return status;
}

// Holes between storage's end and the end that readers see are zeros.
Status ArenaCache::zero_holes(const Requester& who, std::vector<Fetch>& fetches, int64_t* end) {
  *end = INT64_MAX;
  const bool short_read = std::any_of(fetches.begin(), fetches.end(), [](const Fetch& f) {
    return f.transferred < f.extent.length;
  });
  if (!short_read) return {};
  int64_t size;
  if (const Status status = who.storage->size(&size); !status.ok()) return status;
  *end = std::max(size, written_end(who));
  for (Fetch& f : fetches) {
    const int64_t known = std::clamp<int64_t>(*end - f.extent.offset, 0, f.extent.length);
    if (known <= f.transferred) continue;
    std::memset(f.memory + f.transferred, 0, static_cast<std::size_t>(known - f.transferred));
    f.transferred = known;
  }
  return {};
}

Status ArenaCache::fill(const Requester& who, std::vector<Claim>& claims, Extent wanted,
                        std::byte* memory, bool whole_pages, int64_t* got) {
  const uint64_t direct_writes = who.file->direct_writes.load(std::memory_order_seq_cst);
  bool keep = who.file->direct_writers.load(std::memory_order_seq_cst) == 0;
  for (const Claim& claim : claims) populate(claim.frame);
  std::vector<std::byte> staging;
  std::vector<Fetch> fetches = plan_fetches(claims, wanted, whole_pages, staging);
  Status status = fetch(who, fetches);
  int64_t end = INT64_MAX;
  if (status.ok()) status = zero_holes(who, fetches, &end);
  keep = keep && who.file->direct_writers.load() == 0 &&
         who.file->direct_writes.load() == direct_writes;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const Claim& claim = claims[i];
    Locked lock(*this, claim.frame / shape_.frames_per_shard());
    if (status.ok()) {
      install(claim, fetches[i]);
      const Extent part = intersect({claim.page_start, page_size()},
                                    {wanted.offset, std::min(wanted.end(), end) - wanted.offset});
      if (!part.empty()) {
        std::memcpy(memory + (part.offset - wanted.offset),
                    data(claim.frame) + (part.offset - claim.page_start),
                    static_cast<std::size_t>(part.length));
      }
    }
    frames_[claim.frame].io = FrameIo::idle;
    if (claim.fresh) {
      if (status.ok() && keep && fetches[i].transferred > 0) {
        open_frame(claim.frame);
      } else {
        release_frame(claim.frame);
      }
    } else if (status.ok() && !keep) {
      close_frame(claim.frame);
      kind_->drop_clean(state(claim.frame), page_size());
      open_frame(claim.frame);
    }
    lock.signal_when_done();
  }
  *got = std::clamp<int64_t>(std::min(wanted.end(), end) - wanted.offset, 0, wanted.length);
  return status;
}

// Merges what was fetched into the page, under bytes that are newer. Under the shard's lock.
void ArenaCache::install(const Claim& claim, const Fetch& fetched) {
  const Extent region{fetched.extent.offset - claim.page_start, fetched.transferred};
  if (region.empty()) return;
  void* page = state(claim.frame);
  if (claim.fresh) {
    kind_->fill(page, page_size(), region);
    return;
  }
  close_frame(claim.frame);
  Regions gaps;
  kind_->missing(page, page_size(), region, gaps);
  for (const Extent& gap : gaps) {
    std::memcpy(data(claim.frame) + gap.offset, fetched.memory + (gap.offset - region.offset),
                static_cast<std::size_t>(gap.length));
    kind_->fill(page, page_size(), gap);
  }
  open_frame(claim.frame);
}

std::vector<FrameIndex> ArenaCache::frames_of(uint64_t file, Extent range, Which which) {
  std::vector<std::pair<int64_t, FrameIndex>> found;
  for (uint32_t s = 0; s < shape_.shards; ++s) {
    const ShardState& shard = shards_[s].state();
    const Locked lock(*this, s);
    if (shard.resident == 0) continue;
    for (FrameIndex f = shard.first_frame; f < shard.first_frame + shard.usable; ++f) {
      const Frame& frame = frames_[f];
      if (frame.key.file != file) continue;
      if (intersect({frame.key.page * page_size(), page_size()}, range).empty()) continue;
      if (which != Which::all && frame.dirty_hint.load() == 0 && frame.io != FrameIo::committing) {
        continue;
      }
      if (which == Which::full && !kind_->holds(state(f), page_size(), {0, page_size()})) continue;
      found.emplace_back(frame.key.page, f);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<FrameIndex> frames;
  frames.reserve(found.size());
  for (const auto& entry : found) frames.push_back(entry.second);
  return frames;
}

Status ArenaCache::commit(const Requester& who, Extent range) {
  if (header_->dirty_frames.load() == 0 && header_->committing_frames.load() == 0) return {};
  std::vector<FrameIndex> frames = frames_of(who.file->id, range, Which::dirty);
  if (frames.empty()) return {};
  // Ranks that commit at the same time begin at different places and so share the work.
  const uint32_t seats = std::max<uint32_t>(who.file->handles, 1);
  const std::size_t start = frames.size() * (who.seat % seats) / seats;
  std::rotate(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(start), frames.end());
  return commit_frames(who, std::move(frames), who.file->id, true);
}

Status ArenaCache::commit_frames(const Requester& who, std::vector<FrameIndex> frames,
                                 uint64_t file, bool wait) {
  Status result;
  CommitPlan plan;
  std::vector<FrameIndex> claimed;
  std::vector<FrameIndex> later;
  Regions regions;
  while (!frames.empty()) {
    later.clear();
    std::size_t next = 0;
    while (next < frames.size()) {
      plan.clear();
      claimed.clear();
      Storage* storage = nullptr;
      while (next < frames.size() && plan.bytes() < who.commit_size_bytes &&
             claimed.size() < most_claims) {
        const FrameIndex f = frames[next++];
        Frame& frame = frames_[f];
        Locked lock(*this, f / shape_.frames_per_shard());
        if (frame.key.file != file) continue;  // committed and evicted by somebody else
        if (frame.io != FrameIo::idle) {
          later.push_back(f);
          continue;
        }
        if (frame.dirty_hint.load() == 0) continue;
        if (storage == nullptr) {
          storage = file == who.file->id && who.can_write_storage ? who.storage
                                                                  : finder_(frame.file_slot, file);
          if (storage == nullptr) return {Code::access, EACCES, -1};
        }
        // Counted as being committed before it ceases to count as dirty, so that commit() never
        // sees neither.
        header_->committing_frames.fetch_add(1);
        forget_dirty(frame);
        if (kind_->lock_free()) drain(f);
        regions.clear();
        kind_->take_dirty(state(f), page_size(), regions);
        if (regions.empty()) {
          header_->committing_frames.fetch_sub(1);
          continue;
        }
        frame.io = FrameIo::committing;
        claimed.push_back(f);
        for (const Extent& region : regions) plan.add(f, frame.key.page * page_size(), region);
      }
      if (claimed.empty()) continue;
      const Status status = write_plan(who, plan, *storage);
      settle_claims(plan, claimed, status);
      if (!status.ok() && result.ok()) result = status;
    }
    if (!wait || later.empty() || !result.ok()) break;
    {
      Locked lock(*this, later.front() / shape_.frames_per_shard());
      const Frame& frame = frames_[later.front()];
      if (frame.key.file == file && frame.io != FrameIo::idle) lock.wait();
    }
    frames = later;
  }
  return result;
}

Status ArenaCache::write_plan(const Requester& who, const CommitPlan& plan, Storage& storage) {
  std::vector<forebay::Segment> segments;
  segments.reserve(plan.parts().size());
  for (const CommitPlan::Part& part : plan.parts()) {
    std::byte* memory = data(part.frame) + part.in_page;
    segments.push_back({memory, part.length});
  }
  std::vector<Request> requests;
  requests.reserve(plan.runs().size());
  for (const CommitPlan::Run& run : plan.runs()) {
    requests.push_back({run.extent.offset, {segments.data() + run.first_part, run.parts}});
  }
  StorageCounters counters;
  const WorkClock clock;
  const Status status = storage.write(requests, counters);
  who.statistics->commit_ns += clock.cost_ns();
  who.statistics->write_requests += counters.requests;
  who.statistics->write_syscalls += counters.syscalls;
  if (status.ok()) who.statistics->committed_bytes += plan.bytes();
  return status;
}

void ArenaCache::settle_claims(const CommitPlan& plan, const std::vector<FrameIndex>& claimed,
                               const Status& status) {
  std::size_t part = 0;
  for (const FrameIndex f : claimed) {
    Locked lock(*this, f / shape_.frames_per_shard());
    for (; part < plan.parts().size() && plan.parts()[part].frame == f; ++part) {
      if (status.ok()) continue;
      kind_->publish(state(f), page_size(),
                     {plan.parts()[part].in_page, plan.parts()[part].length});
    }
    if (!status.ok()) note_dirty(frames_[f]);
    frames_[f].io = FrameIo::idle;
    header_->committing_frames.fetch_sub(1);
    lock.signal_when_done();
  }
}

// Settlemyer 7.4.1: write more than the victim when that makes one large request.
Status ArenaCache::commit_around(const Requester& who, FrameIndex victim) {
  PageKey key;
  {
    Locked lock(*this, victim / shape_.frames_per_shard());
    key = frames_[victim].key;
  }
  if (key.file == 0) return {};
  std::vector<FrameIndex> frames{victim};
  const int64_t most = std::clamp<int64_t>(who.commit_size_bytes / page_size(), 1,
                                           static_cast<int64_t>(most_claims));
  for (const int64_t direction : {int64_t{1}, int64_t{-1}}) {
    for (int64_t page = key.page + direction; static_cast<int64_t>(frames.size()) < most;
         page += direction) {
      const PageKey neighbour{key.file, page};
      Locked lock(*this, shard_of(neighbour, shape_.shards));
      const FrameIndex f = shards_[shard_of(neighbour, shape_.shards)].find(neighbour);
      if (f == no_frame || frames_[f].dirty_hint.load() == 0) break;
      frames.insert(direction > 0 ? frames.end() : frames.begin(), f);
    }
  }
  return commit_frames(who, std::move(frames), key.file, false);
}

Status ArenaCache::commit_some(const Requester& who, uint32_t target) {
  for (const Which which : {Which::full, Which::dirty}) {
    if (dirty_frames() <= target) return {};
    std::vector<FrameIndex> chosen = frames_of(who.file->id, {0, INT64_MAX}, which);
    const std::size_t surplus = dirty_frames() > target ? dirty_frames() - target : 0;
    if (chosen.size() > surplus) chosen.resize(surplus);
    const Status status = commit_frames(who, std::move(chosen), who.file->id, false);
    if (!status.ok()) return status;
  }
  return {};
}

template <typename Change>
void ArenaCache::change_frames(const Requester& who, Extent range, const Change& change) {
  const uint64_t file = who.file->id;
  for (const FrameIndex f : frames_of(file, range, Which::all)) {
    Locked lock(*this, f / shape_.frames_per_shard());
    while (frames_[f].key.file == file && frames_[f].io != FrameIo::idle) lock.wait();
    if (frames_[f].key.file != file) continue;
    close_frame(f);
    if (change(f, frames_[f].key.page * page_size())) {
      open_frame(f);
    } else {
      release_frame(f);
    }
    lock.signal_when_done();
  }
}

void ArenaCache::drop(const Requester& who, Extent range, bool dirty_too) {
  change_frames(who, range, [&](FrameIndex f, int64_t) {
    if (dirty_too || !kind_->any_dirty(state(f), page_size())) return false;
    kind_->drop_clean(state(f), page_size());
    return true;
  });
}

void ArenaCache::truncate(const Requester& who, int64_t bytes) {
  change_frames(who, {bytes, INT64_MAX - bytes}, [&](FrameIndex f, int64_t page_start) {
    if (page_start >= bytes) return false;
    kind_->truncate(state(f), page_size(), bytes - page_start);
    return true;
  });
}

bool ArenaCache::any_resident(const Requester& who, Extent range) {
  const int64_t first = range.offset / page_size();
  const int64_t last = (range.end() - 1) / page_size();
  if (last - first >= shape_.frames) return !frames_of(who.file->id, range, Which::all).empty();
  for (int64_t page = first; page <= last;) {
    const uint32_t shard = shard_of(key_of(who, page), shape_.shards);
    Locked lock(*this, shard);
    if (shards_[shard].state().resident == 0 && shape_.shards == 1) return false;
    for (; page <= last && shard_of(key_of(who, page), shape_.shards) == shard; ++page) {
      if (shards_[shard].find(key_of(who, page)) != no_frame) return true;
    }
  }
  return false;
}

int64_t ArenaCache::written_end(const Requester& who) const {
  int64_t end = 0;
  const uint32_t seats = registry_->seats_in_use.load(std::memory_order_acquire);
  for (uint32_t s = 0; s < seats; ++s) {
    const Seat& seat = registry_->seats[s];
    if (seat.file.load(std::memory_order_acquire) != who.file_slot) continue;
    end = std::max(end, seat.end.load(std::memory_order_acquire));
  }
  return end;
}

}  // namespace forebay::runtime
