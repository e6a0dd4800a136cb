// Carries out the engine's plans on one arena: locks shards, moves bytes, reads and writes storage.
// One object per process and arena; all processes of the node that use the arena hold one.
//
// Lock order: registry, then one shard; never two shards, never storage under a shard's lock.
// Whoever waits for a frame holds no claim on another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arena/arena.h"
#include "engine/commit_plan.h"
#include "engine/page_cursor.h"
#include "engine/shard.h"
#include "page/page_kind.h"
#include "runtime/cached_file.h"
#include "runtime/registry.h"
#include "runtime/shared_segment.h"
#include "storage/storage.h"

namespace forebay::runtime {

// What an operation needs to know of the file and of who asks.
struct Requester {
  FileEntry* file;
  uint32_t file_slot;
  uint32_t seat;
  Storage* storage;  // this handle's
  bool can_read_storage;
  bool can_write_storage;
  int64_t commit_size_bytes;
  Statistics* statistics;
};

class ArenaCache final : private FrameStates {
 public:
  struct Callbacks {
    // Finds a file's storage for commits of pages that this process has not written itself; nullptr
    // where it may not write that file.
    std::function<Storage*(uint32_t file_slot, uint64_t file_id)> find_storage;
    std::function<void()> before_growth;  // there are about to be more pages
  };

  // `process`: this process's number in the registry; `job`: as for ChangeNotes.
  static std::unique_ptr<ArenaCache> join(const std::string& path, uint32_t number,
                                          const ArenaConfig& config, Registry* registry,
                                          Registry* job, uint32_t process, Callbacks callbacks,
                                          Status* status);
  void remove() { segment_->remove(); }

  const PageKind& kind() const { return *kind_; }
  int64_t page_size() const { return shape_.page_size; }
  int64_t capacity_bytes() const { return shape_.page_size * shape_.frames; }
  uint32_t frames() const { return shape_.frames; }
  uint32_t dirty_frames() const { return header_->dirty_frames.load(std::memory_order_relaxed); }

  // False: no frame has bytes that storage lacks.
  bool may_be_dirty() const {
    return header_->dirty_frames.load() != 0 || header_->committing_frames.load() != 0;
  }

  // The page that holds `part` (which lies within one page), resident and open for translations,
  // for a write of those bytes; delta pages are filled first where the write is partial. `count`: a
  // new access for the policy. Code::no_memory: there is no frame at all; write through.
  Status page_for_write(const Requester& who, Extent part, bool count, Translation* translation);
  // The write itself, for kinds that are not lock-free: copies and publishes under the lock.
  Status write_locked(const Requester& who, Extent part, const std::byte* memory, bool count);

  // Copies `part` of one page out of the cache if all of it is valid. False: it is not.
  bool read_resident(const Requester& who, Extent part, std::byte* memory, bool count,
                     Translation* translation);
  // Reads `wanted` (any number of pages) through the cache; what is missing is fetched, by whole
  // pages or only around the wanted bytes. `count`: as above, of the first page; all others are new
  // accesses. *got = bytes before the end of the file.
  Status read(const Requester& who, Extent wanted, std::byte* memory, bool whole_pages, bool count,
              int64_t* got);
  // Fetches the next absent pages, by one list of requests, into frames that can be had without
  // waiting. False: there are no such frames, or no more pages.
  bool prefetch(const Requester& who, PageCursor& pages);

  // Every byte of the file within `range` published before the call is in storage afterwards.
  Status commit(const Requester& who, Extent range);
  // Write-behind: full pages first, until at most `target` frames of the arena are dirty or this
  // file has none left.
  Status commit_some(const Requester& who, uint32_t target);
  // Forgets the clean bytes of the pages that meet `range`, or all their bytes.
  void drop(const Requester& who, Extent range, bool dirty_too);
  void truncate(const Requester& who, int64_t bytes);
  // Whether the cache has, or is fetching, some byte of `range`.
  bool any_held(const Requester& who, Extent range);

  // Ends the I/O that a dead process had under way: what it was writing is dirty again, what it was
  // reading is forgotten.
  void end_io_of(uint32_t process);
  // Bytes of the file that storage may lack.
  int64_t unsaved_bytes(uint64_t file);

  // After a publish without the lock that found the frame's hint clear.
  void note_dirty(Frame& frame);
  // One past the highest byte written through any handle of the file and not yet known to storage.
  int64_t written_end(const Requester& who) const;

 private:
  struct Header {
    std::atomic<uint32_t> dirty_frames{0};
    std::atomic<uint32_t> committing_frames{0};
    std::atomic<uint32_t> usable_frames{0};  // of all shards; none before a page was needed
  };
  struct DriverShard {
    SharedMutex lock;
    SharedEvent event;  // some frame's I/O ended
  };
  struct Claim {  // a frame that this process is filling
    FrameIndex frame;
    int64_t page_start;
    bool fresh;  // closed for everybody else, read in place
  };
  struct Fetch;
  class Locked;
  class Closed;
  class Filling;
  class Committing;
  enum class Got : uint8_t {
    resident,  // the page's frame
    placed,    // a frame for the page, closed and empty
    again,     // the lock was given up meanwhile: look again
    none,      // not without waiting, or not at all (then the status says why)
  };

  ArenaCache() = default;
  PageKey key_of(const Requester& who, int64_t page) const { return {who.file->id, page}; }
  std::byte* data(FrameIndex frame) const;
  void* state(FrameIndex frame) const;
  uint64_t busy_word(FrameIndex frame) const;
  Translation translation(FrameIndex frame, int64_t page_start) const;

  // False: nothing was ever cached here.
  bool has_frames() const { return header_->usable_frames.load(std::memory_order_acquire) != 0; }

  // Under the frame's lock. After close_frame nobody uses the frame without the lock.
  void close_frame(FrameIndex frame) const;
  void open_frame(FrameIndex frame) const;
  void drain(FrameIndex frame) const;  // waits until no seat is busy with it
  void forget_dirty(Frame& frame);
  void begin_io(FrameIndex frame, FrameIo io) const;
  void release_frame(FrameIndex frame);
  bool evictable(FrameIndex frame) const override { return frames_[frame].io == FrameIo::idle; }
  CommitShape commit_shape(FrameIndex frame) const override;
  Got obtain(const Requester& who, Locked& lock, PageKey key, bool* count, bool wait,
             FrameIndex* frame, Status* status);
  bool grow(Shard& shard);
  void populate(FrameIndex frame);

  Status fill(const Requester& who, Filling& filling, Extent wanted, std::byte* memory,
              bool whole_pages, int64_t* got);
  std::vector<Fetch> plan_fetches(const std::vector<Claim>& claims, Extent wanted, bool whole_pages,
                                  std::vector<std::byte>& staging);
  Status fetch(const Requester& who, std::vector<Fetch>& fetches);
  Status zero_holes(const Requester& who, std::vector<Fetch>& fetches, int64_t* end);
  void install(const Claim& claim, const Fetch& fetched);

  enum class Which : uint8_t { all, dirty, full };  // dirty: or being committed; full: and whole
  bool meets(const Frame& frame, uint64_t file, Extent range) const;
  bool any_frame(uint64_t file, Extent range);
  std::vector<FrameIndex> frames_of(uint64_t file, Extent range, Which which);
  Status commit_frames(const Requester& who, std::vector<FrameIndex> frames, uint64_t file,
                       bool wait);
  Status commit_around(const Requester& who, FrameIndex victim);
  Status write_plan(const Requester& who, const CommitPlan& plan, FileEntry& file,
                    Storage& storage);
  void repair_shard(uint32_t shard);
  void repair_frame(FrameIndex frame);
  void end_io_of_the_dead(uint32_t shard);
  template <typename Change>
  void change_frames(const Requester& who, Extent range, const Change& change);

  Registry* registry_ = nullptr;
  Registry* job_ = nullptr;
  uint32_t number_ = 0;
  uint32_t process_ = 0;
  std::unique_ptr<SharedSegment> segment_;
  Header* header_ = nullptr;
  ArenaShape shape_;
  std::unique_ptr<ArenaLayout> layout_;
  const PageKind* kind_ = nullptr;
  Frame* frames_ = nullptr;
  std::vector<Shard> shards_;
  Callbacks callbacks_;
  std::unique_ptr<std::atomic<bool>[]> populated_;  // by frame: mapped into this process
};

}  // namespace forebay::runtime
