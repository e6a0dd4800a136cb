#include "runtime/cached_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "engine/rules.h"
#include "runtime/arena_cache.h"
#include "runtime/clock.h"
#include "runtime/file_identity.h"
#include "runtime/node.h"
#include "runtime/own_change.h"
#include "runtime/registry.h"

namespace forebay::runtime {

void Statistics::add(const Statistics& other) {
  write_calls += other.write_calls;
  read_calls += other.read_calls;
  write_bytes += other.write_bytes;
  read_bytes += other.read_bytes;
  hits += other.hits;
  misses += other.misses;
  evictions += other.evictions;
  write_requests += other.write_requests;
  read_requests += other.read_requests;
  write_syscalls += other.write_syscalls;
  read_syscalls += other.read_syscalls;
  committed_bytes += other.committed_bytes;
  fetched_bytes += other.fetched_bytes;
  bypass_calls += other.bypass_calls;
  bypass_bytes += other.bypass_bytes;
  bypass_written_bytes += other.bypass_written_bytes;
  aside_calls += other.aside_calls;
  local_calls += other.local_calls;
  no_page_calls += other.no_page_calls;
  commit_ns += other.commit_ns;
  io_ns += other.io_ns;
}

Requester CachedFile::requester(Statistics* statistics) {
  return {file_,
          file_slot_,
          seat_number_,
          storage_->storage.get(),
          storage_->readable,
          storage_->writable,
          options_.commit_size_bytes,
          statistics};
}

Requester CachedFile::requester() { return requester(&statistics_); }

inline bool CachedFile::write_translated(Extent part, const std::byte* memory) {
  const Translation& t = translation_;
  const int64_t in_page = part.offset - t.page_start;
  if (in_page < 0 || part.length > t.length - in_page) return false;
  seat_->busy.store(t.busy, std::memory_order_seq_cst);
  const bool current = t.frame->tag.load(std::memory_order_seq_cst) == t.tag;
  if (current) {
    std::memcpy(t.data + in_page, memory, static_cast<std::size_t>(part.length));
    arena_->kind().publish(t.state, t.length, {in_page, part.length});
    if (t.frame->dirty_hint.load(std::memory_order_seq_cst) == 0) arena_->note_dirty(*t.frame);
  }
  seat_->busy.store(0, std::memory_order_release);
  return current;
}

inline bool CachedFile::read_translated(Extent part, std::byte* memory) {
  const Translation& t = translation_;
  const int64_t in_page = part.offset - t.page_start;
  if (in_page < 0 || part.length > t.length - in_page) return false;
  seat_->busy.store(t.busy, std::memory_order_seq_cst);
  const bool held = t.frame->tag.load(std::memory_order_seq_cst) == t.tag &&
                    arena_->kind().holds(t.state, t.length, {in_page, part.length});
  if (held) std::memcpy(memory, t.data + in_page, static_cast<std::size_t>(part.length));
  seat_->busy.store(0, std::memory_order_release);
  return held;
}

inline void CachedFile::raise_end(int64_t end) {
  if (seat_->end.load(std::memory_order_relaxed) < end) {
    seat_->end.store(end, std::memory_order_release);
  }
}

bool CachedFile::bypasses(int64_t length) const {
  return goes_past(length, options_.bypass_bytes, arena_->capacity_bytes()) ||
         file_->write_through.load(std::memory_order_acquire) != 0;
}

// Whether an access stays on the page of the one before; remembers the page. Only that page may be
// used without asking the policy.
bool CachedFile::continues_page(int64_t offset) {
  const int64_t page = offset / arena_->page_size();
  const bool same = page == last_page_;
  last_page_ = page;
  if (!same) translation_ = {};
  return same;
}

inline void CachedFile::begin_call(int64_t& calls) {
  ++calls;
  bypass_counted_ = aside_counted_ = no_page_counted_ = false;
}

void CachedFile::count_call(int64_t& calls, bool& counted) {
  if (!counted) ++calls;
  counted = true;
}

Status CachedFile::write(std::span<const Piece> pieces, bool continued) {
  if (!continued) begin_call(statistics_.write_calls);
  for (const Piece& piece : pieces) {
    const Status status = write_run({piece.offset, piece.length}, piece.memory);
    if (!status.ok()) return status;
  }
  return {};
}

Status CachedFile::write(int64_t offset, const std::byte* memory, int64_t length) {
  begin_call(statistics_.write_calls);
  return write_run({offset, length}, memory);
}

inline Status CachedFile::write_run(Extent extent, const std::byte* memory) {
  statistics_.write_bytes += extent.length;
  if (extent.empty()) return {};
  return within_memory([&] {
    return writes_.calls_until_sample-- == 0 ? write_sampled(extent, memory)
                                             : write_cached(extent, memory);
  });
}

Status CachedFile::write_cached(Extent extent, const std::byte* memory) {
  if (!write_translated(extent, memory)) {
    if (bypasses(extent.length)) return write_direct(extent, memory);
    if (stays_aside(writes_) || bypasses_locally(writes_, extent))
      return write_direct(extent, memory);
    const int64_t page_size = arena_->page_size();
    for (Extent rest = extent; !rest.empty();) {
      const int64_t page_end = (rest.offset / page_size + 1) * page_size;
      const Extent part{rest.offset, std::min(rest.end(), page_end) - rest.offset};
      const Status status = write_part(part, memory + (part.offset - extent.offset));
      if (!status.ok()) return status;
      rest = {part.end(), rest.end() - part.end()};
    }
  }
  raise_end(extent.end());
  return {};
}

// A part lies within one page.
Status CachedFile::write_part(Extent part, const std::byte* memory) {
  const Requester who = requester();
  bool count = !continues_page(part.offset);
  const Status status = within_memory([&] {
    if (!arena_->kind().lock_free()) return arena_->write_locked(who, part, memory, count);
    while (!write_translated(part, memory)) {
      const Status placed = arena_->page_for_write(who, part, count, &translation_);
      if (!placed.ok()) return placed;
      count = false;
    }
    return Status::success();
  });
  if (status.code == Code::no_memory) {
    tell_of_memory();
    return write_direct(part, memory);
  }
  if (!status.ok()) return status;
  const Status ignored = within_memory([this] { return write_behind(); });
  (void)ignored;  // the bytes stay dirty: sync and close meet the failure and report it
  return {};
}

// Once on a node.
void CachedFile::tell_of_memory() {
  count_call(statistics_.no_page_calls, no_page_counted_);
  if (node_->registry().told_of_memory.exchange(1) != 0) return;
  node_->notices().no_memory_for_pages(file_->path);
}

namespace {

// An access past the cache, as the others see it.
class Direct {
 public:
  Direct(FileEntry& file, Seat& seat) : file_(file), seat_(seat) {
    file_.direct_writers.fetch_add(1, std::memory_order_seq_cst);
    seat_.direct.store(1, std::memory_order_release);
  }
  ~Direct() {
    file_.direct_writes.fetch_add(1, std::memory_order_seq_cst);
    seat_.direct.store(0, std::memory_order_relaxed);
    file_.direct_writers.fetch_sub(1, std::memory_order_seq_cst);
  }
  Direct(const Direct&) = delete;
  Direct& operator=(const Direct&) = delete;

 private:
  FileEntry& file_;
  Seat& seat_;
};

}  // namespace

Status CachedFile::write_direct(Extent extent, const std::byte* memory, int64_t* storage_ns) {
  count_call(statistics_.bypass_calls, bypass_counted_);
  statistics_.bypass_bytes += extent.length;
  statistics_.bypass_written_bytes += extent.length;
  const Requester who = requester();
  const Direct direct(*file_, *seat_);
  Status status;
  // What was cached before this write must not be committed over it.
  if (arena_->any_held(who, extent)) status = arena_->commit(who, extent);
  if (status.ok()) {
    const Segment segment{const_cast<std::byte*>(memory), extent.length};
    const Request request{extent.offset, {&segment, 1}};
    StorageCounters counters;
    const int64_t before = storage_ns == nullptr ? 0 : now_ns();
    std::optional<NotedWrite> noted;
    if (node_->registry().recoverable)
      // A local file's times are by the clock that this write is noted by: nothing is to be asked.
      noted.emplace(*file_, node_->job(), *storage_->storage, !local_ && arena_->may_be_dirty());
    status = storage_->storage->write({&request, 1}, counters);
    if (storage_ns != nullptr) *storage_ns = now_ns() - before;
    statistics_.write_requests += counters.requests;
    statistics_.write_syscalls += counters.syscalls;
  }
  if (arena_->any_held(who, extent)) arena_->drop(who, extent, false);
  return status;
}

Status CachedFile::read(std::span<const Piece> pieces, int64_t* transferred, bool continued) {
  if (!continued) begin_call(statistics_.read_calls);
  *transferred = 0;
  for (const Piece& piece : pieces) {
    int64_t got;
    const Status status = read_run({piece.offset, piece.length}, piece.memory, &got);
    if (!status.ok()) return status;
    *transferred += got;
    if (got < piece.length) break;
  }
  return {};
}

Status CachedFile::read(int64_t offset, std::byte* memory, int64_t length, int64_t* transferred) {
  begin_call(statistics_.read_calls);
  return read_run({offset, length}, memory, transferred);
}

inline Status CachedFile::read_run(Extent extent, std::byte* memory, int64_t* transferred) {
  *transferred = 0;
  if (extent.empty()) return {};
  const Status status = within_memory([&] {
    return reads_.calls_until_sample-- == 0 ? read_sampled(extent, memory, transferred)
                                            : read_cached(extent, memory, transferred);
  });
  if (!status.ok()) *transferred = 0;
  // What goes past the cache would not find there what was fetched ahead.
  if (*transferred > 0 && !bypasses(extent.length) && !reads_.local.takes(extent.length)) {
    const Status ahead = within_memory([&] { return look_ahead(extent); });
    // A read of these bytes will meet the failure itself.
    if (ahead.code == Code::no_memory) predictor_.reset();
  }
  statistics_.read_bytes += *transferred;
  return status;
}

Status CachedFile::read_cached(Extent extent, std::byte* memory, int64_t* got) {
  *got = extent.length;
  if (read_translated(extent, memory)) return {};
  if (bypasses(extent.length)) return read_direct(extent, memory, got);
  if ((stays_aside(reads_) && !arena_->any_held(requester(), extent)) ||
      bypasses_locally(reads_, extent))
    return read_direct(extent, memory, got);
  return read_pages(extent, memory, got);
}

Status CachedFile::read_pages(Extent extent, std::byte* memory, int64_t* got) {
  const Requester who = requester();
  const int64_t page_size = arena_->page_size();
  const bool one_page = extent.offset / page_size == (extent.end() - 1) / page_size;
  const bool same_page = continues_page(extent.offset);
  if (one_page && arena_->read_resident(who, extent, memory, !same_page, &translation_)) {
    *got = extent.length;
    return {};
  }
  // Where nothing is known of what comes next, no more than what is asked for is fetched.
  const bool whole_pages = predictor_ && predictor_->predicts();
  Status status = within_memory(
      [&] { return arena_->read(who, extent, memory, whole_pages, !same_page, got); });
  if (status.code == Code::no_memory) {
    tell_of_memory();
    status = read_direct(extent, memory, got);
  }
  continues_page(extent.end() - 1);
  return status;
}

Status CachedFile::read_direct(Extent extent, std::byte* memory, int64_t* got,
                               int64_t* storage_ns) {
  count_call(statistics_.bypass_calls, bypass_counted_);
  statistics_.bypass_bytes += extent.length;
  *got = 0;
  const Requester who = requester();
  Status status;
  if (arena_->any_held(who, extent)) status = arena_->commit(who, extent);
  if (!status.ok()) return status;
  const Segment segment{memory, extent.length};
  const Request request{extent.offset, {&segment, 1}};
  StorageCounters counters;
  const int64_t before = storage_ns == nullptr ? 0 : now_ns();
  status = storage_->storage->read({&request, 1}, {got, 1}, counters);
  if (storage_ns != nullptr) *storage_ns = now_ns() - before;
  statistics_.read_requests += counters.requests;
  statistics_.read_syscalls += counters.syscalls;
  if (!status.ok() || *got == extent.length) return status;
  // A hole between storage's end and bytes that are still cached reads as zeros.
  int64_t end;
  status = size(&end);
  const int64_t known = std::clamp<int64_t>(end - extent.offset, *got, extent.length);
  std::memset(memory + *got, 0, static_cast<std::size_t>(known - *got));
  *got = known;
  return status;
}

Statistics CachedFile::statistics() const {
  const std::lock_guard<std::mutex> guard(background_mutex_);
  Statistics sum = statistics_;
  sum.add(background_statistics_);
  return sum;
}

// Runs `work` on the helper thread; it is over before the file is closed.
void CachedFile::in_background(std::function<void(const Requester&)> work) {
  node_->helper().submit(this, [this, work = std::move(work)] {
    Statistics statistics;
    work(requester(&statistics));
    const std::lock_guard<std::mutex> guard(background_mutex_);
    background_statistics_.add(statistics);
  });
}

// Write-behind begins in the background at half the dirty bound; at the bound writers take part, so
// that they cannot outrun storage for long.
Status CachedFile::write_behind() {
  if (!options_.write_behind) return {};
  const DirtyBound bound(options_.dirty_bound, arena_->frames());
  const uint32_t dirty = arena_->dirty_frames();
  if (dirty <= bound.begin()) return {};
  if (dirty > bound.most() || options_.deterministic)
    return arena_->commit_some(requester(), bound.begin());
  in_background([this, bound](const Requester& who) {
    const Status ignored = arena_->commit_some(who, bound.background());
    (void)ignored;
  });
  return {};
}

Status CachedFile::look_ahead(Extent access) {
  if (!predictor_) return {};
  const std::span<const Extent> fetch = predictor_->access(access);
  if (fetch.empty()) return {};
  {
    const std::lock_guard<std::mutex> guard(background_mutex_);
    to_fetch_.insert(to_fetch_.end(), fetch.begin(), fetch.end());
  }
  if (options_.deterministic) {
    fetch_ahead();
  } else {
    node_->helper().submit(&to_fetch_, [this] { fetch_ahead(); });
  }
  return {};
}

void CachedFile::fetch_ahead() {
  std::vector<Extent> extents;
  {
    const std::lock_guard<std::mutex> guard(background_mutex_);
    extents.swap(to_fetch_);
  }
  Statistics statistics;
  const Requester who = requester(&statistics);
  PageCursor pages(extents, arena_->page_size());
  while (!closing_.load(std::memory_order_relaxed) && arena_->prefetch(who, pages)) {
  }
  const std::lock_guard<std::mutex> guard(background_mutex_);
  background_statistics_.add(statistics);
}

Status CachedFile::size(int64_t* bytes) {
  const Status status = storage_->storage->size(bytes);
  if (status.ok()) *bytes = std::max(*bytes, arena_->written_end(requester()));
  return status;
}

Turn CachedFile::turn(bool numbered) {
  if (options_.deterministic) return Turn(node_->registry(), Numbering::turns);
  return Turn(node_->registry(), numbered ? Numbering::drawn : Numbering::none);
}

void CachedFile::note_step(const Turn& turn, CacheStep step, int64_t argument, bool reads) {
  if (options_.deterministic) NumberedSteps::note({step, argument, reads, turn.sequence()});
}

Status CachedFile::commit() {
  const Turn turn = this->turn(false);
  note_step(turn, CacheStep::commit, 0);
  return commit_dirty();
}

Status CachedFile::commit_dirty() {
  int64_t unstored = file_->unstored_end.load();
  const Status status = within_memory([this] {
    return arena_->commit(requester(), {0, INT64_MAX});
  });
  if (!status.ok()) return status;
  // All bytes written through this handle are in storage, and its size counts them; so are those
  // that closed handles had left before.
  note_stored();
  file_->unstored_end.compare_exchange_strong(unstored, 0);
  return status;
}

int64_t CachedFile::dirty_bytes() const { return arena_->dirty_frames() * arena_->page_size(); }

void CachedFile::note_stored() { seat_->end.store(0, std::memory_order_release); }

Status CachedFile::flush_storage() { return storage_->storage->flush(); }

void CachedFile::drop_clean() {
  const Turn turn = this->turn(false);
  note_step(turn, CacheStep::drop_clean, 0);
  arena_->drop(requester(), {0, INT64_MAX}, false);
}

void CachedFile::truncate_cache(int64_t bytes) {
  const Turn turn = this->turn(false);
  note_step(turn, CacheStep::truncate, bytes);
  arena_->truncate(requester(), bytes);
  Registry& registry = node_->registry();
  const uint32_t seats = registry.seats_in_use.load(std::memory_order_acquire);
  for (uint32_t s = 0; s < seats; ++s) {
    Seat& seat = registry.seats[s];
    if (seat.file.load(std::memory_order_acquire) != file_slot_) continue;
    if (seat.end.load() > bytes) seat.end.store(bytes);
  }
  if (file_->unstored_end.load() > bytes) file_->unstored_end.store(bytes);
}

void CachedFile::note_own_change() {
  runtime::note_own_change(*file_, node_->job());
  if (!options_.deterministic) return;
  const Turn turn = this->turn(true);
  int64_t bytes = 0;
  if (size(&bytes).ok()) note_step(turn, CacheStep::resize, bytes);
}

Status CachedFile::set_write_through(bool on) {
  if (on == wants_write_through_) return {};
  wants_write_through_ = on;
  if (!on) {
    file_->write_through.fetch_sub(1, std::memory_order_acq_rel);
    return {};
  }
  file_->write_through.fetch_add(1, std::memory_order_acq_rel);
  const Turn turn = this->turn(false);
  note_step(turn, CacheStep::commit, 0);
  const Status status = commit_dirty();
  arena_->drop(requester(), {0, INT64_MAX}, false);  // ends all translations too
  return status;
}

void CachedFile::lock_access() { file_->access.lock(); }
void CachedFile::unlock_access() { file_->access.unlock(); }

}  // namespace forebay::runtime
