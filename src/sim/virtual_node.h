// A node in virtual time: processes whose fibers use one cache, with real bytes. The engine's third
// driver: where the runtime's waits for a lock, a copy, storage or another process, this one lets
// other fibers run.
//
// A process is a group of fibers, and its number the group's. Group 0 is the node's own (who takes
// the place of the dead).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/cache_handle.h"
#include "sim/fibers.h"
#include "storage/plan_requests.h"
#include "storage/storage.h"

namespace forebay::sim {

class VirtualNode;

// One open handle, as other processes of the node see it.
struct VirtualSeat {
  uint32_t file = 0;  // its slot
  uint64_t busy = 0;
  int64_t end = 0;  // one past the highest byte written and not known to be in storage
  uint32_t process = 0;
  bool taken = false;
  bool past = false;  // within an access past the cache
  NextReads next_reads;
};

struct VirtualFileState : FileState {
  Storage* storage = nullptr;  // its waits are those of fibers
  bool rests = false;          // no handle has it open, and its pages stay
};

// What a handle has done in the background.
class VirtualHelper {
 public:
  virtual ~VirtualHelper() = default;
  virtual void commit(WriteBehind goal) = 0;
  virtual void fetch(std::span<const Extent> extents) = 0;
  virtual bool write_back() = 0;  // false: the handle does nothing in the background
};

// A file as one handle has it open.
class VirtualFile {
 public:
  // The file is the seat's.
  VirtualFile(VirtualNode& node, VirtualSeat& seat, uint32_t number, Statistics& statistics,
              int64_t commit_size_bytes)
      : node_(&node),
        seat_(&seat),
        number_(number),
        statistics_(&statistics),
        commit_size_bytes_(commit_size_bytes) {}
  void set_bytes_worth_a_request(int64_t bytes) { bytes_worth_a_request_ = bytes; }
  void use_helper(VirtualHelper& helper) { helper_ = &helper; }

  FileState& state() const { return entry(); }
  VirtualFileState& entry() const;
  Statistics& statistics() const { return *statistics_; }
  uint32_t slot() const { return seat_->file; }
  uint32_t number() const { return number_; }
  Writers writer() const { return writer_of(number_); }
  bool readable() const { return true; }
  int64_t commit_size_bytes() const { return commit_size_bytes_; }
  int64_t bytes_worth_a_request() const { return bytes_worth_a_request_; }
  VirtualSeat& seat() const { return *seat_; }

  void begin_use(uint64_t word) const;
  void end_use() const;
  void note_past(bool past) const { seat_->past = past; }
  void raise_end(int64_t end) const { seat_->end = std::max(seat_->end, end); }
  void forget_end() const { seat_->end = 0; }
  int64_t written_end() const;
  int64_t own_end() const { return seat_->end; }
  void ends_of_others(std::vector<HandleEnd>& ends) const;
  NextReads& next_reads() const { return seat_->next_reads; }
  void next_reads_of_others(std::vector<NextReads*>& reads) const;
  void pause() const;
  void truncate_ends(int64_t bytes) const;

  Status storage_size(int64_t* bytes) const;
  Status write_past(Extent extent, const std::byte* bytes, bool, int64_t* storage_ns) const;
  Status read_past(Extent extent, std::byte* bytes, int64_t* got, int64_t* storage_ns) const;
  void commit_in_background(WriteBehind goal) const {
    if (helper_ != nullptr) helper_->commit(goal);
  }
  void fetch_in_background(std::span<const Extent> extents) const {
    if (helper_ != nullptr) helper_->fetch(extents);
  }
  bool write_back_in_background() const { return helper_ != nullptr && helper_->write_back(); }
  CommitCost commit_cost() const {
    return {statistics_->commit_ns, statistics_->committed_bytes, statistics_->write_requests};
  }
  void tell_of_memory() const {}

 private:
  VirtualNode* node_;
  VirtualSeat* seat_;
  uint32_t number_;
  Statistics* statistics_;
  int64_t commit_size_bytes_;
  int64_t bytes_worth_a_request_ = 0;
  VirtualHelper* helper_ = nullptr;
};

class VirtualDriver {
 public:
  using PageBytes = std::byte*;
  using OpenFile = VirtualFile;
  using Target = Storage*;
  class Staging {
   public:
    Staging(const VirtualDriver& driver, uint32_t pages)
        : page_size_(driver.page_size()), bytes_(static_cast<std::size_t>(page_size_) * pages) {}
    std::byte* page(uint32_t number) { return bytes_.data() + page_size_ * number; }

   private:
    int64_t page_size_;
    std::vector<std::byte> bytes_;
  };
  class Transfer {
   public:
    int64_t transferred(std::size_t run) const { return in_storage_.outcomes()[run].transferred; }

   private:
    friend class VirtualDriver;
    int64_t began_ns_ = 0;
    PlanRequests requests_;
    Storage* storage_ = nullptr;
    forebay::Transfer in_storage_;
  };

  VirtualDriver(VirtualNode& node, uint32_t shards) : node_(node), shards_(shards) {}

  bool lock(uint32_t shard);
  void unlock(uint32_t shard);
  uint32_t events(uint32_t shard) const { return shards_[shard].events; }
  bool wait(uint32_t shard, uint32_t seen);
  void signal(uint32_t shard);
  uint32_t process() const { return Fibers::current()->group(); }
  bool alive(uint32_t process) const { return !Fibers::current()->is_dead(process); }
  void drain(FrameIndex frame);
  uint64_t use_word(FrameIndex frame) const { return frame + 1; }

  bool reserve(FrameIndex first, uint32_t frames) const;
  void populate(FrameIndex) const { Fibers::current()->step(); }
  std::byte* page_bytes(FrameIndex frame) const;
  // Bytes move in two parts, between which others run.
  static void copy_in(std::byte* page, Extent region, const std::byte* from) {
    move(page + region.offset, from, region.length);
  }
  static void copy_out(const std::byte* page, Extent region, std::byte* to) {
    move(to, page + region.offset, region.length);
  }
  static void zero(std::byte* memory, int64_t length) {
    std::memset(memory, 0, static_cast<std::size_t>(length));
  }
  void copy_staged(Staging& staging, uint32_t number, FrameIndex frame, Extent region) const {
    copy_in(page_bytes(frame), region, staging.page(number) + region.offset);
  }
  void zero(Staging& staging, const IoPlan::Part& part) const {
    zero(memory_of(part, &staging), part.length);
  }

  Target target(const VirtualFile& file, uint32_t file_slot, uint64_t file_id) const;
  void to_requests(const IoPlan& plan, PlanRequests& requests) const;
  void begin_write(Target storage, const IoPlan& plan, Transfer& transfer) const;
  void begin_write(Target storage, const IoPlan& plan, std::span<const std::byte* const> messages,
                   Transfer& transfer) const;
  void begin_read(const VirtualFile& file, const IoPlan& plan, Staging& staging,
                  Transfer& transfer) const;
  static Status complete(Transfer& transfer, Statistics& statistics);
  static int64_t now_ns() { return Fibers::current()->now_ns(); }

  int64_t page_size() const;
  // How many waits have ended without a signal.
  int64_t waits_in_vain() const { return waits_in_vain_; }

 private:
  struct Shard {
    bool held = false;
    uint32_t owner = 0;
    uint32_t events = 0;
    Fibers::Queue for_lock, for_event;
  };
  static void move(std::byte* to, const std::byte* from, int64_t length);
  static void begin(Storage& storage, forebay::Transfer::Direction direction, Transfer& transfer);
  std::byte* memory_of(const IoPlan::Part& part, Staging* staging) const {
    std::byte* const page =
        part.staged == IoPlan::in_frame ? page_bytes(part.frame) : staging->page(part.staged);
    return page + part.in_page;
  }

  VirtualNode& node_;
  std::vector<Shard> shards_;
  int64_t waits_in_vain_ = 0;
};

class VirtualNode {
 public:
  // A file for each storage; its slot is the storage's place. No more than `most_frames` frames get
  // memory.
  VirtualNode(Fibers& fibers, const CacheShape& shape, std::span<Storage* const> storages,
              uint32_t most_frames);

  Cache<VirtualDriver>& cache() { return cache_; }
  const Cache<VirtualDriver>& cache() const { return cache_; }
  CacheArena& arena() { return arena_; }
  VirtualFileState& file(uint32_t slot) { return files_[slot]; }
  Fibers& fibers() { return fibers_; }
  std::deque<VirtualSeat>& seats() { return seats_; }

  // From now on a file's pages stay after its last close, for its next open.
  void keep_pages() { keeps_pages_ = true; }
  int64_t kept_pages() const { return kept_pages_; }  // that opens have found

  // A process opens a file. *joined: others have it open.
  VirtualSeat& take_seat(uint32_t slot, uint32_t process, bool* joined);
  // A handle closes, once it has committed what it must. False: it is the file's last, and others
  // have left bytes that it must commit first.
  bool give_back(const VirtualFile& file);

  // Takes the place of a process that has died: ends its I/O, gives back its seats, commits what it
  // left. Storage's failure, if it fails; then to be called again.
  Status reap(uint32_t process);

 private:
  friend class VirtualDriver;
  class RegistryLock;
  void count_handles();
  // Leaves the shard's lists as one does that dies amid a change of them.
  void tear(uint32_t shard);

  Fibers& fibers_;
  CacheArena arena_;
  std::vector<std::byte> memory_;
  uint32_t most_frames_;
  uint32_t frames_given_ = 0;
  VirtualDriver driver_;
  Cache<VirtualDriver> cache_;
  std::deque<VirtualFileState> files_;
  std::deque<VirtualSeat> seats_;
  bool keeps_pages_ = false;
  int64_t kept_pages_ = 0;
  bool registry_held_ = false;
  uint32_t registry_owner_ = 0;
};

}  // namespace forebay::sim
