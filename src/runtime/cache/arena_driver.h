// The engine's driver in a program. It carries out the engine's plans on a node's shared memory and
// on real storage: it locks shards, moves bytes, reads, writes and waits, on the calling thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/cache_arena.h"
#include "engine/driver.h"
#include "engine/rules.h"
#include "runtime/cache/scattered_memory.h"
#include "runtime/node/clock.h"
#include "runtime/node/lock.h"
#include "runtime/node/own_change.h"
#include "runtime/node/registry.h"
#include "runtime/node/shared_segment.h"
#include "storage/plan_requests.h"
#include "storage/storage.h"

namespace forebay::runtime {

// What the engine asks of a handle's owner: work on the helper thread, and facts that only the
// owner knows.
class HandleServices {
 public:
  // Commits frames of the file until the goal is reached.
  virtual void commit_in_background(WriteBehind goal) = 0;
  virtual void fetch_in_background(std::span<const Extent> extents) = 0;
  // Commits the pages in the write-back buffer. False: this handle does nothing in the background.
  virtual bool write_back_in_background() = 0;
  // The cost of the handle's commits and of those of earlier handles on the same device.
  virtual CommitCost commit_cost() const = 0;
  virtual void tell_of_memory() = 0;  // there is no memory for pages

 protected:
  ~HandleServices() = default;
};

// A file that one handle of this process has open, or whose bytes are committed in place of a dead
// process.
// Where the bytes end that a handle has written.
struct WrittenEnd {
  Seat* seat;
  int64_t end;
};

class ArenaFile {
 public:
  struct Parts {
    FileEntry* entry = nullptr;
    uint32_t slot = 0;     // of the entry
    Seat* seat = nullptr;  // null: no handle, so no reads and writes
    uint32_t seat_number = 0;
    // With those of other handles (option deterministic). A step sees the size that is noted, even
    // if others make the file longer meanwhile.
    bool takes_turns = false;
    Storage* storage = nullptr;  // null: pages can only be forgotten
    // Where pages, and reads past the cache, come from, if not from `storage`.
    Storage* source = nullptr;
    Storage* past_source = nullptr;
    bool readable = false;  // `storage` can be read
    bool writable = false;
    bool local = false;  // storage is on this node
    int64_t commit_size_bytes = 0;
    Registry* registry = nullptr;
    Registry* job = nullptr;  // the job's, as in ChangeNotes
    HandleServices* services = nullptr;
    Statistics* statistics = nullptr;
  };

  ArenaFile() = default;
  explicit ArenaFile(const Parts& parts) : parts_(parts), writer_(writer_of(parts.seat_number)) {}
  // The same file, with other statistics: for work in the background.
  ArenaFile counted_in(Statistics& statistics) const {
    ArenaFile other = *this;
    other.parts_.statistics = &statistics;
    return other;
  }
  void set_commit_size(int64_t bytes) { parts_.commit_size_bytes = bytes; }
  void read_from(Storage* source, Storage* past_source) {
    parts_.source = source;
    parts_.past_source = past_source;
  }

  FileState& state() const { return *parts_.entry; }
  FileEntry& entry() const { return *parts_.entry; }
  Storage* storage() const { return parts_.storage; }
  Storage* source() const { return parts_.source != nullptr ? parts_.source : parts_.storage; }
  Storage* past_source() const {
    return parts_.past_source != nullptr ? parts_.past_source : parts_.storage;
  }
  Statistics& statistics() const { return *parts_.statistics; }
  uint32_t slot() const { return parts_.slot; }
  uint32_t number() const { return parts_.takes_turns ? 0 : parts_.seat_number; }
  Writers writer() const { return writer_; }
  void write_as(uint32_t number) { writer_ = writer_of(number); }
  bool readable() const { return parts_.readable; }
  bool writable() const { return parts_.writable; }
  int64_t commit_size_bytes() const { return parts_.commit_size_bytes; }
  int64_t bytes_worth_a_request() const { return forebay::bytes_worth_a_request; }

  void begin_use(uint64_t word) const { parts_.seat->busy.store(word, std::memory_order_seq_cst); }
  void end_use() const { parts_.seat->busy.store(0, std::memory_order_release); }
  void note_past(bool past) const {
    parts_.seat->direct.store(past ? 1 : 0,
                              past ? std::memory_order_release : std::memory_order_relaxed);
  }

  void raise_end(int64_t end) const {
    if (parts_.seat->end.load(std::memory_order_relaxed) < end)
      parts_.seat->end.store(end, std::memory_order_release);
  }
  // The ends of what all handles have written, and that these bytes are in storage: each handle
  // forgets its end, unless it has written beyond meanwhile.
  std::vector<WrittenEnd> written_ends() const;
  static void forget_ends(std::span<const WrittenEnd> ends);
  void forget_end() const { parts_.seat->end.store(0, std::memory_order_release); }
  int64_t written_end() const;
  int64_t own_end() const { return parts_.seat->end.load(std::memory_order_relaxed); }
  void ends_of_others(std::vector<HandleEnd>& ends) const;
  NextReads& next_reads() const { return parts_.seat->next_reads; }
  void next_reads_of_others(std::vector<NextReads*>& reads) const;
  void pause() const;
  void truncate_ends(int64_t bytes) const;

  // As the step under way sees it.
  Status storage_size(int64_t* bytes) const {
    *bytes = parts_.takes_turns ? parts_.entry->noted_size.load() : -1;
    return *bytes >= 0 ? Status() : parts_.storage->size(bytes);
  }
  // So many of the bytes that storage gave for the extent lie below that size.
  int64_t below_noted_size(Extent extent, int64_t got) const {
    const int64_t size = parts_.takes_turns ? parts_.entry->noted_size.load() : -1;
    return size < 0 ? got : std::clamp<int64_t>(size - extent.offset, 0, got);
  }
  // `may_be_dirty`: the cache may have bytes that storage lacks.
  template <typename Source>
  Status write_past(Extent extent, Source source, bool may_be_dirty, int64_t* storage_ns) const {
    return write_request({extent.offset, segments_of(source, extent.length)}, may_be_dirty,
                         storage_ns);
  }
  template <typename Target>
  Status read_past(Extent extent, Target target, int64_t* got, int64_t* storage_ns) const {
    return read_request({extent.offset, segments_of(target, extent.length)}, got, storage_ns);
  }

  void commit_in_background(WriteBehind goal) const { parts_.services->commit_in_background(goal); }
  void fetch_in_background(std::span<const Extent> extents) const {
    parts_.services->fetch_in_background(extents);
  }
  bool write_back_in_background() const {
    return parts_.services != nullptr && parts_.services->write_back_in_background();
  }
  CommitCost commit_cost() const { return parts_.services->commit_cost(); }
  void tell_of_memory() const { parts_.services->tell_of_memory(); }

 private:
  // The memory of a request, as storage takes it. For a single piece nothing is allocated.
  class Segments {
   public:
    explicit Segments(Segment one) : one_(one) {}
    explicit Segments(std::vector<Segment> many) : many_(std::move(many)) {}
    std::span<const Segment> all() const {
      return many_.empty() ? std::span<const Segment>(&one_, 1) : many_;
    }

   private:
    Segment one_{};
    std::vector<Segment> many_;
  };
  static Segments segments_of(const std::byte* memory, int64_t length) {
    return Segments(Segment{const_cast<std::byte*>(memory), length});
  }
  static Segments segments_of(ScatteredMemory memory, int64_t length);
  struct PastRequest {
    int64_t offset;
    Segments memory;
  };
  Status write_request(const PastRequest& request, bool may_be_dirty, int64_t* storage_ns) const;
  Status read_request(const PastRequest& request, int64_t* got, int64_t* storage_ns) const;

  Parts parts_;
  Writers writer_ = 0;
};

class ArenaDriver {
 public:
  using PageBytes = std::byte*;
  using OpenFile = ArenaFile;

  struct Callbacks {
    // Finds a file's storage for commits of pages that another process has written; nullptr if this
    // process may not write the file.
    std::function<Storage*(uint32_t file_slot, uint64_t file_id)> find_storage;
    std::function<void()> before_growth;  // called before pages get memory
  };

  struct Target {
    FileEntry* entry = nullptr;
    Storage* storage = nullptr;
    explicit operator bool() const { return storage != nullptr; }
  };

  class Staging {
   public:
    Staging(const ArenaDriver& driver, uint32_t pages)
        : page_size_(driver.arena_.page_size()),
          bytes_(pages == 0 ? nullptr
                            : std::make_unique_for_overwrite<std::byte[]>(
                                  static_cast<std::size_t>(page_size_) * pages)) {}
    std::byte* page(uint32_t number) const { return bytes_.get() + page_size_ * number; }

   private:
    int64_t page_size_;
    std::unique_ptr<std::byte[]> bytes_;
  };

  class Transfer {
   public:
    int64_t transferred(std::size_t run) const { return in_storage_.outcomes()[run].transferred; }

   private:
    friend class ArenaDriver;
    std::optional<WorkClock> clock_;   // of a write
    std::optional<NotedWrite> noted_;  // outlives the write itself
    const ArenaFile* reads_ = nullptr;
    FileEntry* writes_ = nullptr;
    PlanRequests requests_;
    Storage* storage_ = nullptr;
    forebay::Transfer in_storage_;
  };

  // `number`: the arena's index in its registry; `process`: this process's number in the registry;
  // `job`: as in ChangeNotes.
  ArenaDriver(CacheArena& arena, uint32_t number, Registry& registry, Registry* job,
              uint32_t process, Callbacks callbacks);
  static constexpr std::size_t shard_bytes();
  void init_shards();  // once, by the process that creates the arena
  void use(SharedSegment& segment) { segment_ = &segment; }

  bool lock(uint32_t shard) { return of(shard).lock.lock(); }
  void unlock(uint32_t shard) { of(shard).lock.unlock(); }
  uint32_t events(uint32_t shard) { return of(shard).event.now(); }
  bool wait(uint32_t shard, uint32_t seen) { return of(shard).event.wait(seen); }
  void signal(uint32_t shard) { of(shard).event.signal(); }

  uint32_t process() const { return process_; }
  bool alive(uint32_t process) const;
  void drain(FrameIndex frame) const;
  uint64_t use_word(FrameIndex frame) const {
    return (static_cast<uint64_t>(number_) << 32) | (frame + 1ull);
  }

  bool reserve(FrameIndex first, uint32_t frames);
  void populate(FrameIndex frame);
  std::byte* page_bytes(FrameIndex frame) const { return arena_.page_data(frame); }
  static void copy_in(std::byte* page, Extent region, const std::byte* from) {
    std::memcpy(page + region.offset, from, static_cast<std::size_t>(region.length));
  }
  static void copy_out(const std::byte* page, Extent region, std::byte* to) {
    std::memcpy(to, page + region.offset, static_cast<std::size_t>(region.length));
  }
  static void copy_in(std::byte* page, Extent region, ScatteredMemory from) {
    std::byte* at = page + region.offset;
    from.for_each_piece(region.length, [&at](const std::byte* piece, int64_t length) {
      std::memcpy(at, piece, static_cast<std::size_t>(length));
      at += length;
    });
  }
  static void copy_out(const std::byte* page, Extent region, ScatteredMemory to) {
    const std::byte* at = page + region.offset;
    to.for_each_piece(region.length, [&at](std::byte* piece, int64_t length) {
      std::memcpy(piece, at, static_cast<std::size_t>(length));
      at += length;
    });
  }
  static void zero(std::byte* memory, int64_t length) {
    std::memset(memory, 0, static_cast<std::size_t>(length));
  }
  static void zero(ScatteredMemory memory, int64_t length) {
    memory.for_each_piece(length, [](std::byte* piece, int64_t bytes) { zero(piece, bytes); });
  }
  void copy_staged(const Staging& staging, uint32_t number, FrameIndex frame, Extent region) const {
    copy_in(page_bytes(frame), region, staging.page(number) + region.offset);
  }
  void zero(const Staging& staging, const IoPlan::Part& part) const {
    zero(memory_of(part, &staging), part.length);
  }

  Target target(const ArenaFile& file, uint32_t file_slot, uint64_t file_id) const;
  // A plan of pages in frames, as requests.
  void to_requests(const IoPlan& plan, PlanRequests& requests) const;
  void begin_write(const Target& target, const IoPlan& plan, Transfer& transfer) const;
  // The same for a plan that has parts of messages, too.
  using Messages = std::span<const std::byte* const>;
  void begin_write(const Target& target, const IoPlan& plan, Messages messages,
                   Transfer& transfer) const;
  void begin_read(const ArenaFile& file, const IoPlan& plan, const Staging& staging,
                  Transfer& transfer) const;
  static Status complete(Transfer& transfer, Statistics& statistics);

  static int64_t now_ns() { return runtime::now_ns(); }

 private:
  struct DriverShard {
    SharedMutex lock;
    SharedEvent event;  // the I/O of a frame has ended
  };
  DriverShard& of(uint32_t shard) const {
    return *reinterpret_cast<DriverShard*>(arena_.driver_shard(shard));
  }
  std::byte* memory_of(const IoPlan::Part& part, const Staging* staging) const {
    std::byte* const page =
        part.staged == IoPlan::in_frame ? page_bytes(part.frame) : staging->page(part.staged);
    return page + part.in_page;
  }

  void begin_write(const Target& target, Transfer& transfer) const;

  CacheArena& arena_;
  uint32_t number_;
  Registry& registry_;
  Registry* job_;
  uint32_t process_;
  Callbacks callbacks_;
  SharedSegment* segment_ = nullptr;
  // By frame: whether its memory is mapped into this process.
  std::unique_ptr<std::atomic<bool>[]> populated_;
};

constexpr std::size_t ArenaDriver::shard_bytes() { return sizeof(DriverShard); }

}  // namespace forebay::runtime
