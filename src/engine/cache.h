// The cache: one engine for the runtime, the simulators and the tests of whole nodes. It owns the
// protocol of a page: find or obtain a frame, claim, fill, publish, evict, commit, drop, truncate,
// repair. The driver carries out what it decides (driver.h). A process has one object for each
// arena.
//
//   cache.h         frames, and the parts below put together
//   cache_guards.h  a shard's lock, a closed frame, frames with I/O under way
//   cache_pages.h   finding a page or a frame for it
//   cache_evict.h   victims with dirty bytes
//   cache_fill.h    reading through the cache
//   cache_commit.h  write-back, and forgetting pages
//   cache_rest.h    pages of files that no handle has open
//   cache_repair.h  what a dead process left half done
//
// Lock order: one shard; never two shards, never storage under a shard's lock. An access that waits
// for a frame holds no claim on another.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "domain/file_domains.h"
#include "engine/cache_arena.h"
#include "engine/driver.h"
#include "engine/page_cursor.h"
#include "engine/rules.h"
#include "predict/foresight.h"

namespace forebay {

// A page's frame as one handle knows it; good as long as the frame's tag is unchanged.
template <typename Driver>
struct Translation {
  int64_t page_start = 0;  // file offset of the page
  int64_t length = 0;      // page size; 0: no translation
  Frame* frame = nullptr;
  [[no_unique_address]] typename Driver::PageBytes bytes{};
  void* state = nullptr;
  uint64_t tag = 0;
  uint64_t use = 0;  // the word in the handle's seat while it uses the frame
};

template <typename Driver>
class Cache final : private FrameStates {
 public:
  using OpenFile = typename Driver::OpenFile;
  using Translation = forebay::Translation<Driver>;

  // `arena` is attached; `arena` and `driver` outlive the cache.
  Cache(CacheArena& arena, Driver& driver) : arena_(arena), driver_(driver) {
    static_assert(CacheDriver<Driver>);
  }

  const PageKind& kind() const { return arena_.kind(); }
  Driver& driver() const { return driver_; }
  int64_t page_size() const { return arena_.page_size(); }
  int64_t capacity_bytes() const { return arena_.capacity_bytes(); }
  uint32_t frames() const { return arena_.frames(); }
  uint32_t dirty_frames() const {
    return arena_.header().dirty_frames.load(std::memory_order_relaxed);
  }
  // False: no frame has bytes that storage lacks.
  bool may_be_dirty() const {
    return arena_.header().dirty_frames.load() != 0 ||
           arena_.header().committing_frames.load() != 0;
  }

  class Evictions;  // dirty victims of one access (cache_evict.h)
  enum class Got : uint8_t {
    resident,  // the page's frame
    placed,    // a frame for the page, closed and empty
    again,     // the lock was released meanwhile: the caller looks again
    leaving,   // the page waits for a victim's frame: it has it after evict()
    none,      // no frame before evict() or without waiting, or none at all (the status says why)
  };

  // Makes the page of `part` (which lies within one page) resident and open for a write of those
  // bytes, and returns its translation. A delta page is filled first if the write is partial.
  // *count: the policy counts a new access; false when it has. *got: resident, leaving or none.
  // Code::no_memory: there is no frame at all; the caller writes past the cache.
  Status page_for_write(OpenFile& file, Extent part, bool* count, Evictions& evictions,
                        Translation* translation, Got* got);
  // Writes `part`, for page kinds that are not lock-free: copies and publishes under the lock.
  // *got: resident (it is written), leaving or none.
  template <typename Source>
  Status write_locked(OpenFile& file, Extent part, Source source, bool* count, Evictions& evictions,
                      Got* got);
  // Commits the victims, and gives their frames to the pages that wait for them.
  Status evict(OpenFile& file, Evictions& evictions);

  // Copies `part` (within one page) out of the cache if all its bytes are valid. False: they are
  // not.
  template <typename Target>
  bool read_resident(OpenFile& file, Extent part, Target target, bool count,
                     Translation* translation);
  // Reads `wanted` (any number of pages) through the cache. Missing bytes are fetched: whole pages,
  // or only the bytes around the wanted ones. The policy counts an access to each page of which
  // bytes lie at or beyond `counted_end`. *got: the bytes before the end of the file.
  template <typename Target>
  Status read(OpenFile& file, Extent wanted, Target target, bool whole_pages, int64_t counted_end,
              int64_t* got);
  // Fetches the next absent pages, with one list of requests, into frames that are free without
  // waiting. False: no such frame is left, or no page.
  bool prefetch(OpenFile& file, PageCursor& pages);
  // Whether all these pages are there, or on their way.
  bool has_frames(const OpenFile& file, PageCursor pages);

  // Commits the pages of the file within `range` to which one of `writers` has written: what these
  // published before the call is in storage after it.
  Status commit(OpenFile& file, Extent range, Writers writers = every_writer);
  // Whether storage may lack bytes of the file.
  bool lacks_commits(const OpenFile& file);
  // Commits the pages that the policy has evicted and that wait in the write-back buffer
  // (Settlemyer 7.4.3), and frees their frames.
  Status write_back(OpenFile& file);
  // Commits what came from other nodes and the dirty pages of the file that node `self` owns, by
  // offset: what touches leaves as one request. Pages at or after `complete_before` stay: more of
  // their bytes will come.
  template <typename Messages>
  Status commit_domain(OpenFile& file, const FileDomains& domains, uint32_t self,
                       int64_t complete_before, std::span<const Received> received,
                       const Messages& messages);
  // The pages of the file that may be dirty lie in it; empty: there are none.
  Extent dirty_region(const OpenFile& file);
  // The file's dirty pages that lack bytes.
  PartialPages partial_pages(const OpenFile& file);
  // Commits frames of the file until the goal is reached or this file has no such frame left.
  Status commit_some(OpenFile& file, WriteBehind goal);
  // The file's dirty pages that other nodes own, while they are handed over (cache_guests.h).
  class Guests;
  // Commits those within `range`, and waits for others that commit them or hand them over.
  Status commit_guests(OpenFile& file, Extent range, const FileDomains& domains, uint32_t self);
  // Forgets the clean bytes of the pages that meet `range`; with `dirty_too`, all their bytes.
  void drop(const OpenFile& file, Extent range, bool dirty_too);
  // Forgets the bytes at and beyond `bytes`.
  void truncate(const OpenFile& file, int64_t bytes);
  // The pages of the file, all clean, stay without a handle. They leave before any other page,
  // those of the file that has rested longest first. Where too many files rest, that file rests no
  // longer.
  void rest(const OpenFile& file);
  // The same for the pages that node `self` owns. The others, all clean, are forgotten.
  void rest(const OpenFile& file, const FileDomains& domains, uint32_t self);
  // Forgets the clean pages of the file that node `self` does not own.
  void keep_own(const OpenFile& file, const FileDomains& domains, uint32_t self);
  // Ends the file's rest: its pages are as any other's. Returns how many it has.
  int64_t wake(const OpenFile& file);

  // Whether the cache has, or is fetching, some byte of `range`.
  bool any_held(const OpenFile& file, Extent range);
  // The pages of `range` from its beginning that are alike: the cache has, or is fetching, all
  // bytes of each (*held) or of none. Returns their bytes of `range`.
  int64_t held_run(const OpenFile& file, Extent range, bool* held);
  // Whether somebody fills one of the range's pages.
  bool any_filling(const OpenFile& file, Extent range);

  // What handles foresee of the file's pages (predict/foresight.h), for policies that use it.
  bool foresees() const { return arena_.shard(0).foresees(); }
  ShardClock clock(const OpenFile& file, int64_t page);
  uint64_t foresee(const OpenFile& file, int64_t page, double ahead);
  void forget(const OpenFile& file, int64_t page, uint64_t when);

  // Ends the I/O that a dead process had under way: bytes that it was writing are dirty again,
  // bytes that it was reading are forgotten.
  void end_io_of(uint32_t process);
  // Bytes of the file that storage may lack.
  int64_t unsaved_bytes(uint64_t file);

  // Adds writers to the frame. Called after a publish without the lock that found its own writer
  // missing.
  void note_dirty(Frame& frame, Writers writers);

 private:
  struct Claim {  // a frame that this process is filling
    FrameIndex frame;
    int64_t page_start;
    bool fresh;  // a new page: its frame is closed, and storage is read into it
  };
  struct Fetch {        // one of the parts that are fetched of a claimed page
    std::size_t claim;  // its index
    Extent extent;      // in the file
    uint32_t staged = IoPlan::in_frame;
    int64_t transferred = 0;  // bytes got: from storage, and zeros up to the file's end
  };
  class Locked;
  class Closed;
  class Filling;
  class Committing;
  class MayLeave;
  // `dirty`: dirty, or being committed. `full`: these, with all bytes of the page valid.
  enum class Which : uint8_t { all, dirty, full };

  PageKey key_of(const OpenFile& file, int64_t page) const { return {file.state().id, page}; }
  Frame& frame(FrameIndex index) const { return arena_.frame(index); }
  void* state(FrameIndex index) const { return arena_.page_state(index); }
  uint32_t shard_number(PageKey key) const { return shard_of(key, arena_.shards()); }
  uint32_t shard_number(FrameIndex index) const { return index / arena_.frames_per_shard(); }
  Extent whole_page() const { return {0, page_size()}; }
  Translation translation(FrameIndex index, int64_t page_start) const;
  template <typename Source>
  void copy_in(FrameIndex index, Extent region, Source source) const;
  template <typename Target>
  void copy_out(FrameIndex index, Extent region, Target target) const;

  // False: no page was ever cached in this arena.
  bool has_frames() const {
    return arena_.header().usable_frames.load(std::memory_order_acquire) != 0;
  }

  // Called under the lock of the frame's shard. After close_frame() no process uses the frame
  // without the lock.
  void close_frame(FrameIndex index) const;
  void open_frame(FrameIndex index) const;
  void forget_dirty(Frame& frame);
  void begin_io(FrameIndex index, FrameIo io) const;
  void empty_page(FrameIndex index) const;
  void note_writer(const OpenFile& file, FrameIndex index) const;
  void note_use(OpenFile& file, FrameIndex index) const;
  bool holds(PageKey key, Extent region);
  void release_frame(FrameIndex index);
  bool evictable(FrameIndex index) const override { return frame(index).io == FrameIo::idle; }
  CommitShape commit_shape(FrameIndex index) const override;
  Got obtain(OpenFile& file, Locked& lock, PageKey key, bool* count, bool wait,
             Evictions* evictions, FrameIndex* frame, Status* status);
  bool close_clean(FrameIndex index) const;
  void replace(OpenFile& file, FrameIndex index, PageKey key, bool* count);
  static void count_eviction(OpenFile& file, bool* count);
  Got retire(OpenFile& file, FrameIndex victim, PageKey key, bool* count, FrameIndex* index);
  void free_if_stored(FrameIndex index);
  Status take_neighbours(OpenFile& file, Committing& list, PageKey victim);
  template <typename Placed>
  Status evict(OpenFile& file, Evictions& evictions, const Placed& placed);
  void grow(Shard& shard);
  bool free_resting(Locked& lock, uint32_t shard);
  bool free_pages(Locked& lock, uint32_t shard, uint64_t file);

  template <typename Target>
  Status fill(OpenFile& file, Filling& filling, Extent wanted, Target target, bool whole_pages,
              int64_t* got);
  std::vector<Fetch> plan_fetches(const OpenFile& file, const std::vector<Claim>& claims,
                                  Extent wanted, bool whole_pages);
  Status fetch(OpenFile& file, const std::vector<Claim>& claims, typename Driver::Staging& staging,
               std::vector<Fetch>& fetches);
  Status zero_holes(OpenFile& file, const std::vector<Claim>& claims,
                    typename Driver::Staging& staging, std::vector<Fetch>& fetches, int64_t* end);
  void count_ahead(OpenFile& file, FrameIndex index) const;
  void install(const Claim& claim, const Fetch& fetched, typename Driver::Staging& staging);

  static bool commits(const Frame& frame) {
    return frame.io == FrameIo::committing || frame.io == FrameIo::recommitting;
  }
  bool meets(const Frame& frame, uint64_t file, Extent range) const;
  template <typename Matches>
  bool any_frame(const Matches& matches);
  template <typename Wanted>
  std::vector<std::pair<int64_t, FrameIndex>> pages_where(const Wanted& wanted);
  std::vector<std::pair<int64_t, FrameIndex>> dirty_pages(uint64_t file);
  std::vector<FrameIndex> frames_of(uint64_t file, Extent range, Which which,
                                    Writers writers = every_writer);
  bool are_shared(const std::vector<FrameIndex>& frames);
  static void begin_apart(const OpenFile& file, std::vector<FrameIndex>& frames);
  Status commit_frames(OpenFile& file, std::vector<FrameIndex> frames, uint64_t id, bool wait);
  template <typename Change>
  void change_frames(uint64_t file, Extent range, const Change& change);

  void repair_shard(uint32_t shard);
  void repair_frame(FrameIndex index);
  void end_io_of_the_dead(uint32_t shard);

  CacheArena& arena_;
  Driver& driver_;
};

template <typename Driver>
Translation<Driver> Cache<Driver>::translation(FrameIndex index, int64_t page_start) const {
  Translation t;
  t.page_start = page_start;
  t.length = page_size();
  t.frame = &frame(index);
  t.bytes = driver_.page_bytes(index);
  t.state = state(index);
  t.tag = t.frame->tag.load(std::memory_order_relaxed);
  t.use = driver_.use_word(index);
  return t;
}

template <typename Driver>
template <typename Source>
void Cache<Driver>::copy_in(FrameIndex index, Extent region, Source source) const {
  if constexpr (!std::is_same_v<Source, NoBytes>)
    Driver::copy_in(driver_.page_bytes(index), region, source);
}

template <typename Driver>
template <typename Target>
void Cache<Driver>::copy_out(FrameIndex index, Extent region, Target target) const {
  if constexpr (!std::is_same_v<Target, NoBytes>)
    Driver::copy_out(driver_.page_bytes(index), region, target);
}

template <typename Driver>
void Cache<Driver>::close_frame(FrameIndex index) const {
  frame(index).tag.fetch_add(1, std::memory_order_seq_cst);
  driver_.drain(index);
}

template <typename Driver>
void Cache<Driver>::open_frame(FrameIndex index) const {
  frame(index).tag.fetch_add(1, std::memory_order_release);
}

template <typename Driver>
void Cache<Driver>::note_dirty(Frame& frame, Writers writers) {
  if (frame.writers.fetch_or(writers, std::memory_order_seq_cst) == 0) {
    arena_.header().dirty_frames.fetch_add(1, std::memory_order_relaxed);
  }
}

template <typename Driver>
void Cache<Driver>::forget_dirty(Frame& frame) {
  if (frame.writers.exchange(0, std::memory_order_seq_cst) != 0) {
    arena_.header().dirty_frames.fetch_sub(1, std::memory_order_relaxed);
  }
}

// The process is named before the I/O begins, so that others always know whose I/O it is.
template <typename Driver>
void Cache<Driver>::begin_io(FrameIndex index, FrameIo io) const {
  frame(index).io_process = driver_.process();
  std::atomic_signal_fence(std::memory_order_seq_cst);
  frame(index).io = io;
}

template <typename Driver>
void Cache<Driver>::release_frame(FrameIndex index) {
  forget_dirty(frame(index));
  arena_.shard(shard_number(index)).release(index);
}

}  // namespace forebay

#include "engine/cache_guards.h"
//
#include "engine/cache_commit.h"
#include "engine/cache_evict.h"
#include "engine/cache_fill.h"
#include "engine/cache_guests.h"
#include "engine/cache_pages.h"
#include "engine/cache_repair.h"
#include "engine/cache_rest.h"
