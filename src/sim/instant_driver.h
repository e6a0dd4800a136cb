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

namespace forebay::sim {

struct InstantFile;

struct SimulatedFile : FileState {
  uint64_t number = 0;               // the caller's number of the file
  int64_t stored_bytes = 0;          // storage's size of the file
  std::vector<InstantFile*> opened;  // the handles that have it open
};

// A file as one handle has it open.
struct InstantFile {
  SimulatedFile* file = nullptr;
  uint32_t file_slot = 0;
  int64_t commit_size = 0;
  int64_t end = 0;  // one past the highest byte written and not known to be in storage
  Statistics* counted = nullptr;

  FileState& state() const { return *file; }
  Statistics& statistics() const { return *counted; }
  uint32_t slot() const { return file_slot; }
  uint32_t number() const { return 0; }
  bool readable() const { return true; }
  int64_t commit_size_bytes() const { return commit_size; }

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
  void commit_in_background(uint32_t) const {}
  void fetch_in_background(std::span<const Extent>) const {}
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
  using Target = SimulatedFile*;
  struct Staging {
    Staging(const InstantDriver&, uint32_t) {}
  };

  explicit InstantDriver(std::deque<SimulatedFile>& files) : files_(files) {}

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
  Status write(Target file, const IoPlan& plan, Statistics& statistics) const {
    for (const IoPlan::Run& run : plan.runs())
      file->stored_bytes = std::max(file->stored_bytes, run.extent.end());
    statistics.write_requests += std::ssize(plan.runs());
    return {};
  }
  Status read(const InstantFile& file, const IoPlan& plan, const Staging&,
              std::span<int64_t> transferred) const {
    for (std::size_t run = 0; run < transferred.size(); ++run)
      transferred[run] = file.stored(plan.runs()[run].extent);
    file.counted->read_requests += std::ssize(plan.runs());
    return {};
  }

 private:
  std::deque<SimulatedFile>& files_;  // by slot
};

}  // namespace forebay::sim
