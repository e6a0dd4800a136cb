// Guards of the class Cache, private to it: a shard's lock, a closed frame, frames whose I/O is
// under way. Each gives back what it holds, however an operation ends.
#pragma once

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/cache.h"

namespace forebay {

// A shard's lock, held from construction on. wait() releases it while it waits.
template <typename Driver>
class Cache<Driver>::Locked {
 public:
  Locked(Cache& cache, uint32_t shard) : cache_(cache), shard_(shard) { acquire(); }
  ~Locked() { release(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  void signal_when_done() { signal_ = true; }
  void wait() {
    const uint32_t seen = cache_.driver_.events(shard_);
    release();
    const bool moved = cache_.driver_.wait(shard_, seen);
    acquire();
    if (!moved) cache_.end_io_of_the_dead(shard_);
  }

 private:
  void acquire() {
    if (cache_.driver_.lock(shard_)) cache_.repair_shard(shard_);
  }
  void release() {
    cache_.driver_.unlock(shard_);
    if (std::exchange(signal_, false)) cache_.driver_.signal(shard_);
  }
  Cache& cache_;
  const uint32_t shard_;
  bool signal_ = false;
};

// Keeps a frame closed: no process uses it without the shard's lock, which the caller holds.
template <typename Driver>
class Cache<Driver>::Closed {
 public:
  Closed(const Cache& cache, FrameIndex frame) : cache_(cache), frame_(frame) {
    cache_.close_frame(frame_);
  }
  ~Closed() { cache_.open_frame(frame_); }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  const Cache& cache_;
  const FrameIndex frame_;
};

// Frames that this process fills, in order. Frames that are not done at its end (memory was
// refused) are given back as they were.
template <typename Driver>
class Cache<Driver>::Filling {
 public:
  Filling(Cache& cache, int64_t most) : cache_(cache) {
    claims_.reserve(static_cast<std::size_t>(most));
  }
  ~Filling() {
    for (; done_ < claims_.size(); ++done_) {
      const Claim& claim = claims_[done_];
      Locked lock(cache_, cache_.shard_number(claim.frame));
      cache_.frame(claim.frame).io = FrameIo::idle;
      if (claim.fresh) cache_.release_frame(claim.frame);
      lock.signal_when_done();
    }
  }
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;

  const std::vector<Claim>& claims() const { return claims_; }
  bool empty() const { return claims_.empty(); }
  void sort() {
    std::sort(claims_.begin(), claims_.end(),
              [](const Claim& a, const Claim& b) { return a.page_start < b.page_start; });
  }
  // Under the frame's lock.
  void begin(const Claim& claim) {
    cache_.begin_io(claim.frame, FrameIo::filling);
    claims_.push_back(claim);
  }
  void end_next() { cache_.frame(claims_[done_++].frame).io = FrameIo::idle; }
  // Forgets the claims, which must all be done.
  void clear() {
    claims_.clear();
    done_ = 0;
  }

 private:
  Cache& cache_;
  std::vector<Claim> claims_;
  std::size_t done_ = 0;
};

// Frames that this process commits, as one list of requests to the storage of one file: the first
// frame's. Unless end() says that storage has their bytes, they become dirty again.
template <typename Driver>
class Cache<Driver>::Committing {
 public:
  explicit Committing(Cache& cache) : cache_(cache) {}
  ~Committing() { give_back(); }
  Committing(const Committing&) = delete;
  Committing& operator=(const Committing&) = delete;

  // Makes room for so many frames: giving them back needs no memory.
  void reserve(std::size_t most) {
    frames_.reserve(most);
    again_.reserve(most);
  }
  std::size_t frames() const { return frames_.size(); }
  int64_t bytes() const { return plan_.bytes(); }
  const IoPlan& plan() const { return plan_; }
  // Claims a frame whose I/O is idle, under its lock, and adds its dirty regions to the list.
  // False: there are none, or *status says what failed. If memory is refused, the frame is as it
  // was.
  bool add(OpenFile& file, FrameIndex index, Status* status) {
    const Frame& frame = cache_.frame(index);
    aim(file, frame.file_slot, frame.key.file);
    if (!target_) {
      *status = {Code::access, EACCES, -1};
      return false;
    }
    begin(index);
    if (cache_.kind().lock_free()) cache_.driver_.drain(index);
    regions_.clear();
    try {
      cache_.kind().take_dirty(cache_.state(index), cache_.page_size(), regions_);
      plan_.reserve(regions_.size());
    } catch (...) {
      end_latest(false);
      throw;
    }
    if (regions_.empty()) {
      take_back();
      return false;
    }
    for (const Extent& region : regions_)
      plan_.add(index, frame.key.page * cache_.page_size(), region);
    return true;
  }
  // Writes the list and ends it. Adds the frames that must be committed once more to `again`.
  Status write(OpenFile& file, std::vector<FrameIndex>& again) {
    sort();
    const Status status = write_plan(file);
    end(status.ok(), again);
    return status;
  }
  Status write(OpenFile& file) {
    again_.clear();
    return write(file, again_);
  }
  // The same, together with runs of the file that came in messages.
  template <typename Messages>
  Status write(OpenFile& file, std::span<const Received> received, const Messages& messages) {
    if (frames_.empty() && received.empty()) return {};
    aim(file, file.slot(), file.state().id);
    try {
      plan_.merge(received);
    } catch (...) {
      give_back();
      throw;
    }
    const Status status = write_plan(file, messages);
    settle(status.ok());
    return status;
  }
  void sort() { plan_.sort(); }  // neighbours come after their victim; a commit may begin anywhere
  // Ends the list. stored: storage, or another that answers for it, has the bytes.
  void settle(bool stored) {
    again_.clear();
    end(stored, again_);
  }
  // Makes all frames dirty again.
  void give_back() { settle(false); }

 private:
  // A list goes to the file of its first frame.
  void aim(OpenFile& file, uint32_t slot, uint64_t id) {
    if (frames_.empty()) target_ = cache_.driver_.target(file, slot, id);
  }
  template <typename... Messages>
  Status write_plan(OpenFile& file, const Messages&... messages) {
    typename Driver::Transfer transfer;
    cache_.driver_.begin_write(target_, plan_, messages..., transfer);
    const Status status = cache_.driver_.complete(transfer, file.statistics());
    ++file.statistics().commit_lists;
    if (status.ok()) file.statistics().committed_bytes += plan_.bytes();
    return status;
  }
  void begin(FrameIndex frame) {
    // First counted as being committed, then no longer as dirty: may_be_dirty() sees the frame in
    // one of the two counts.
    cache_.arena_.header().committing_frames.fetch_add(1);
    cache_.begin_io(frame, FrameIo::committing);
    cache_.forget_dirty(cache_.frame(frame));
    frames_.push_back(frame);
  }
  // Takes back the latest begin(): the frame had nothing to commit.
  void take_back() {
    const FrameIndex f = frames_.back();
    cache_.frame(f).io = FrameIo::idle;
    cache_.arena_.header().committing_frames.fetch_sub(1);
    frames_.pop_back();
    cache_.free_if_stored(f);
  }
  // Ends the latest begin(), under the frame's lock.
  void end_latest(bool stored) {
    const FrameIndex f = frames_.back();
    cache_.kind().settle(cache_.state(f), cache_.page_size(), stored);
    if (!stored) cache_.note_dirty(cache_.frame(f), every_writer);
    cache_.frame(f).io = FrameIo::idle;
    cache_.arena_.header().committing_frames.fetch_sub(1);
    frames_.pop_back();
    cache_.free_if_stored(f);
  }
  void end(bool stored, std::vector<FrameIndex>& again) {
    while (!frames_.empty()) {
      const FrameIndex f = frames_.back();
      Locked lock(cache_, cache_.shard_number(f));
      if (cache_.frame(f).io == FrameIo::recommitting) again.push_back(f);
      end_latest(stored);
      lock.signal_when_done();
    }
    plan_.clear();
  }

  Cache& cache_;
  typename Driver::Target target_{};
  IoPlan plan_;
  std::vector<FrameIndex> frames_;
  std::vector<FrameIndex> again_;
  Regions regions_;
};

}  // namespace forebay
