// The driver of a client's cache in a simulated cluster: the engine that runs inside MPI programs,
// in virtual time and without bytes. Its waits are those of processes; its requests are those of
// the simulated file system.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "engine/cache_handle.h"
#include "sim/cluster/file_system.h"

namespace forebay::sim {

class ClientFile;
class ClientNode;

// A file as the processes that share a cache see it.
struct ClientFileState : FileState {
  uint64_t number = 0;      // of the file system's file
  int64_t unknown_end = 0;  // one past the highest byte written and not known to be in storage
  int64_t own_writes = 0;   // to storage, by this cache
  int64_t seen_writes = 0;  // of other caches, when the file was opened last
  // Storage's size of the file, of a run whose steps are taken again, as this cache met it then.
  int64_t recorded_bytes = 0;
  std::vector<ClientFile*> opened;  // the handles that have it open
  uint32_t handles_ever = 0;
};

// A file as one process has it open through a cache.
class ClientFile {
 public:
  // `helper`: the number of the process that does what the handle leaves to the background.
  ClientFile(ClientNode& node, uint32_t slot, uint32_t number, uint32_t helper,
             Statistics& statistics, int64_t commit_size_bytes)
      : node_(&node),
        slot_(slot),
        number_(number),
        writer_(writer_of(number)),
        helper_(helper),
        statistics_(&statistics),
        commit_size_bytes_(commit_size_bytes) {}
  ClientFile counted_in(Statistics& statistics) const {
    ClientFile other = *this;
    other.statistics_ = &statistics;
    return other;
  }

  ClientFileState& entry() const;
  FileState& state() const { return entry(); }
  Statistics& statistics() const { return *statistics_; }
  uint32_t slot() const { return slot_; }
  uint32_t number() const;
  uint32_t helper() const { return helper_; }
  Writers writer() const { return writer_; }
  void write_as(uint32_t number) { writer_ = writer_of(number); }
  bool readable() const { return true; }
  int64_t commit_size_bytes() const { return commit_size_bytes_; }
  int64_t bytes_worth_a_request() const { return forebay::bytes_worth_a_request; }

  // One process runs at a time, and gives way only where it waits: never while it uses a frame.
  void begin_use(uint64_t) const {}
  void end_use() const {}
  void note_past(bool) const {}
  void raise_end(int64_t end) {
    end_ = std::max(end_, end);
    entry().unknown_end = std::max(entry().unknown_end, end);
  }
  void forget_end() { end_ = 0; }
  int64_t written_end() const { return std::max(entry().unknown_end, entry().unstored_end.load()); }
  int64_t own_end() const { return end_; }
  void ends_of_others(std::vector<HandleEnd>& ends) const;
  NextReads& next_reads() { return next_reads_; }
  void next_reads_of_others(std::vector<NextReads*>& reads) const;
  static void pause() { Process::current()->sleep(200 * microsecond); }
  // The handle is one of those that have the file open, or is no more.
  void enter();
  void leave();
  void truncate_ends(int64_t bytes) const {
    entry().unknown_end = std::min(entry().unknown_end, bytes);
    for (ClientFile* handle : entry().opened) handle->end_ = std::min(handle->end_, bytes);
  }

  Status storage_size(int64_t* bytes) const;
  Status write_past(Extent extent, NoBytes, bool, int64_t* storage_ns) const;
  Status read_past(Extent extent, NoBytes, int64_t* got, int64_t* storage_ns) const;
  void commit_in_background(WriteBehind goal) const;
  void fetch_in_background(std::span<const Extent> extents) const;
  bool write_back_in_background() const;
  CommitCost commit_cost() const {
    return {statistics_->commit_ns, statistics_->committed_bytes, statistics_->write_requests};
  }
  void tell_of_memory() const {}

 private:
  ClientNode* node_;
  uint32_t slot_;
  uint32_t number_;
  Writers writer_;
  uint32_t helper_;
  Statistics* statistics_;
  int64_t commit_size_bytes_;
  uint32_t handle_ = 0;  // its number among all that the file has had
  int64_t end_ = 0;      // one past the highest byte that it has written since its last commit
  NextReads next_reads_;
};

class ClientDriver {
 public:
  using PageBytes = NoBytes;
  using OpenFile = ClientFile;
  using Target = ClientFileState*;
  struct Staging {
    Staging(const ClientDriver&, uint32_t) {}
  };
  class Transfer {
   public:
    Transfer() = default;
    ~Transfer() {
      if (under_way_) done_.wait();
    }
    Transfer(const Transfer&) = delete;
    Transfer& operator=(const Transfer&) = delete;
    int64_t transferred(std::size_t run) const { return transferred_[run]; }

   private:
    friend class ClientDriver;
    bool writes_ = false;
    bool under_way_ = false;
    int64_t began_ns_ = 0;
    Completion done_;
    std::vector<int64_t> transferred_;  // by run
  };

  ClientDriver(ClientNode& node, uint32_t shards) : node_(node), shards_(shards) {}

  bool lock(uint32_t) const { return false; }
  void unlock(uint32_t) const {}
  uint32_t events(uint32_t shard) const { return shards_[shard].events; }
  bool wait(uint32_t shard, uint32_t seen);
  void signal(uint32_t shard);
  uint32_t process() const { return 0; }
  bool alive(uint32_t) const { return true; }
  void drain(FrameIndex) const {}
  uint64_t use_word(FrameIndex) const { return 0; }

  bool reserve(FrameIndex, uint32_t) const { return true; }
  void populate(FrameIndex) const {}
  NoBytes page_bytes(FrameIndex) const { return {}; }
  void copy_staged(const Staging&, uint32_t, FrameIndex, Extent) const {}
  void zero(const Staging&, const IoPlan::Part&) const {}
  static void zero(NoBytes, int64_t) {}
  static int64_t now_ns() { return Process::current()->kernel().now() / nanosecond; }

  Target target(const ClientFile& file, uint32_t file_slot, uint64_t file_id) const;
  void begin_write(Target file, const IoPlan& plan, Transfer& transfer) const;
  void begin_read(const ClientFile& file, const IoPlan& plan, const Staging& staging,
                  Transfer& transfer) const;
  static Status complete(Transfer& transfer, Statistics& statistics);

 private:
  struct Shard {
    uint32_t events = 0;
    Queue waiting;
  };
  void begin(const ClientFileState& file, bool writes, const IoPlan& plan,
             Transfer& transfer) const;

  ClientNode& node_;
  std::vector<Shard> shards_;
};

}  // namespace forebay::sim
