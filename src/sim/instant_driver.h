// The driver of an instant cache: carries out every plan at once, in one thread. Storage is a
// number for each file, its size.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <new>
#include <span>
#include <vector>

#include "engine/driver.h"
#include "engine/rules.h"

namespace forebay::sim {

struct InstantFile;

struct InstantFileState : FileState {
  uint64_t number = 0;               // the caller's number of the file
  int64_t stored_bytes = 0;          // storage's size of the file
  std::vector<InstantFile*> opened;  // the handles that have it open
};

// A file as one handle has it open.
struct InstantFile {
  InstantFileState* file = nullptr;
  uint32_t file_slot = 0;
  int64_t commit_size = 0;
  Writers written_as = 0;
  int64_t end = 0;  // one past the highest byte written and not known to be in storage
  Statistics* counted = nullptr;
  NextReads offers;

  FileState& state() const { return *file; }
  Statistics& statistics() const { return *counted; }
  uint32_t slot() const { return file_slot; }
  uint32_t number() const { return 0; }
  Writers writer() const { return written_as; }
  bool readable() const { return true; }
  int64_t commit_size_bytes() const { return commit_size; }
  int64_t bytes_worth_a_request() const { return forebay::bytes_worth_a_request; }

  void begin_use(uint64_t) const {}
  void end_use() const {}
  void note_past(bool) const {}
  void raise_end(int64_t to) { end = std::max(end, to); }
  void forget_end() { end = 0; }
  int64_t written_end() const {
    int64_t most = file->unstored_end.load();
    for (const InstantFile* other : file->opened) most = std::max(most, other->end);
    return most;
  }
  int64_t own_end() const { return end; }
  // One thread carries out all accesses: nobody waits for another.
  void ends_of_others(std::vector<HandleEnd>& ends) const { ends.clear(); }
  NextReads& next_reads() { return offers; }
  void next_reads_of_others(std::vector<NextReads*>& reads) const {
    reads.clear();
    for (InstantFile* other : file->opened) {
      if (other != this) reads.push_back(&other->offers);
    }
  }
  void pause() const {}
  void truncate_ends(int64_t bytes) const {
    for (InstantFile* other : file->opened) other->end = std::min(other->end, bytes);
  }

  int64_t stored(Extent extent) const {
    return std::clamp<int64_t>(file->stored_bytes - extent.offset, 0, extent.length);
  }
  Status storage_size(int64_t* bytes) const {
    *bytes = file->stored_bytes;
    return {};
  }
  Status write_past(Extent extent, NoBytes, bool, int64_t*) const {
    file->stored_bytes = std::max(file->stored_bytes, extent.end());
    ++counted->write_requests;
    return {};
  }
  Status read_past(Extent extent, NoBytes, int64_t* got, int64_t*) const {
    *got = stored(extent);
    ++counted->read_requests;
    return {};
  }

  // Never used: a deterministic handle does its work itself, and a handle of an instant cache
  // measures nothing.
  void commit_in_background(WriteBehind) const {}
  void fetch_in_background(std::span<const Extent>) const {}
  bool write_back_in_background() const { return false; }
  CommitCost commit_cost() const { return {}; }
  void tell_of_memory() const {}
};

// Memory that costs nothing until it is touched.
class LazyMemory {
 public:
  explicit LazyMemory(std::size_t bytes)
      : bytes_(bytes),
        base_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (base_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~LazyMemory() { munmap(base_, bytes_); }
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;
  std::byte* base() const { return static_cast<std::byte*>(base_); }

 private:
  std::size_t bytes_;
  void* base_;
};

class InstantDriver {
 public:
  using PageBytes = NoBytes;
  using OpenFile = InstantFile;
  using Target = InstantFileState*;
  struct Staging {
    Staging(const InstantDriver&, uint32_t) {}
  };
  // Carried out when it begins.
  class Transfer {
   public:
    int64_t transferred(std::size_t run) const { return transferred_[run]; }

   private:
    friend class InstantDriver;
    bool writes_ = false;
    std::vector<int64_t> transferred_;  // by run
  };

  explicit InstantDriver(std::deque<InstantFileState>& files) : files_(files) {}

  // One access at a time: nothing is locked, and nothing has to be waited for.
  bool lock(uint32_t) { return false; }
  void unlock(uint32_t) {}
  uint32_t events(uint32_t) { return 0; }
  bool wait(uint32_t, uint32_t) { return true; }
  void signal(uint32_t) {}
  uint32_t process() const { return 0; }
  bool alive(uint32_t) const { return true; }
  void drain(FrameIndex) const {}
  uint64_t use_word(FrameIndex) const { return 0; }

  bool reserve(FrameIndex, uint32_t) { return true; }
  void populate(FrameIndex) {}
  NoBytes page_bytes(FrameIndex) const { return {}; }
  void copy_staged(const Staging&, uint32_t, FrameIndex, Extent) const {}
  void zero(const Staging&, const IoPlan::Part&) const {}
  static void zero(NoBytes, int64_t) {}
  static int64_t now_ns() { return 0; }

  Target target(const InstantFile&, uint32_t file_slot, uint64_t) const {
    return &files_[file_slot];
  }
  void begin_write(Target file, const IoPlan& plan, Transfer& transfer) const {
    transfer.writes_ = true;
    for (const IoPlan::Run& run : plan.runs()) {
      file->stored_bytes = std::max(file->stored_bytes, run.extent.end());
      transfer.transferred_.push_back(run.extent.length);
    }
  }
  void begin_read(const InstantFile& file, const IoPlan& plan, const Staging&,
                  Transfer& transfer) const {
    for (const IoPlan::Run& run : plan.runs())
      transfer.transferred_.push_back(file.stored(run.extent));
  }
  Status complete(const Transfer& transfer, Statistics& statistics) const {
    (transfer.writes_ ? statistics.write_requests : statistics.read_requests) +=
        std::ssize(transfer.transferred_);
    return {};
  }

 private:
  std::deque<InstantFileState>& files_;  // by slot
};

}  // namespace forebay::sim
