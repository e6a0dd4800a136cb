// What ArenaCache holds while it works, and gives back however that ends: a shard's lock, a closed
// frame, frames whose I/O is under way. Private to it.
#pragma once

#include "runtime/arena_cache.h"

namespace forebay::runtime {

// Held from construction; wait() and pause() give it up in between.
class ArenaCache::Locked {
 public:
  Locked(ArenaCache& cache, uint32_t shard)
      : cache_(cache),
        shard_(shard),
        driver_(*reinterpret_cast<DriverShard*>(cache.segment_->base() + cache.layout_->driver +
                                                shard * cache.layout_->driver_stride)) {
    acquire();
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
    acquire();
    held_ = true;
  }
  void wait() {
    const uint32_t seen = driver_.event.now();
    pause();
    const bool moved = driver_.event.wait(seen);
    resume();
    if (!moved) cache_.end_io_of_the_dead(shard_);
  }

 private:
  void acquire() {
    if (driver_.lock.lock()) cache_.repair_shard(shard_);
  }
  ArenaCache& cache_;
  const uint32_t shard_;
  DriverShard& driver_;
  bool held_ = true;
  bool signal_ = false;
};

// A frame that nobody uses without the lock, which the caller holds.
class ArenaCache::Closed {
 public:
  Closed(const ArenaCache& cache, FrameIndex frame) : cache_(cache), frame_(frame) {
    cache_.close_frame(frame_);
  }
  ~Closed() { cache_.open_frame(frame_); }
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;

 private:
  const ArenaCache& cache_;
  const FrameIndex frame_;
};

// Frames that this process fills, in order; those not done when it ends (memory was refused) are
// given back as they were.
class ArenaCache::Filling {
 public:
  Filling(ArenaCache& cache, int64_t most) : cache_(cache) {
    claims_.reserve(static_cast<std::size_t>(most));
  }
  ~Filling() {
    for (; done_ < claims_.size(); ++done_) {
      const Claim& claim = claims_[done_];
      Locked lock(cache_, claim.frame / cache_.shape_.frames_per_shard());
      cache_.frames_[claim.frame].io = FrameIo::idle;
      if (claim.fresh) cache_.release_frame(claim.frame);
      lock.signal_when_done();
    }
  }
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;

  const std::vector<Claim>& claims() const { return claims_; }
  bool empty() const { return claims_.empty(); }
  // Under the frame's lock.
  void begin(const Claim& claim) {
    cache_.begin_io(claim.frame, FrameIo::filling);
    claims_.push_back(claim);
  }
  void end_next() { cache_.frames_[claims_[done_++].frame].io = FrameIo::idle; }
  // All are done.
  void clear() {
    claims_.clear();
    done_ = 0;
  }

 private:
  ArenaCache& cache_;
  std::vector<Claim> claims_;
  std::size_t done_ = 0;
};

// Frames that this process commits; dirty again where that is not said to have succeeded.
class ArenaCache::Committing {
 public:
  Committing(ArenaCache& cache, std::size_t most) : cache_(cache) { frames_.reserve(most); }
  ~Committing() { end(false); }
  Committing(const Committing&) = delete;
  Committing& operator=(const Committing&) = delete;

  const std::vector<FrameIndex>& frames() const { return frames_; }
  // Under the frame's lock.
  void begin(FrameIndex frame) {
    // Counted as being committed before it ceases to count as dirty, so that commit() never sees
    // neither.
    cache_.header_->committing_frames.fetch_add(1);
    cache_.begin_io(frame, FrameIo::committing);
    cache_.forget_dirty(cache_.frames_[frame]);
    frames_.push_back(frame);
  }
  // The latest had nothing to commit; its lock is still held.
  void take_back() {
    cache_.frames_[frames_.back()].io = FrameIo::idle;
    cache_.header_->committing_frames.fetch_sub(1);
    frames_.pop_back();
  }
  void end(bool stored) {
    for (; !frames_.empty(); frames_.pop_back()) {
      const FrameIndex f = frames_.back();
      Locked lock(cache_, f / cache_.shape_.frames_per_shard());
      cache_.kind_->settle(cache_.state(f), cache_.page_size(), stored);
      if (!stored) cache_.note_dirty(cache_.frames_[f]);
      cache_.frames_[f].io = FrameIo::idle;
      cache_.header_->committing_frames.fetch_sub(1);
      lock.signal_when_done();
    }
  }

 private:
  ArenaCache& cache_;
  std::vector<FrameIndex> frames_;
};

}  // namespace forebay::runtime
