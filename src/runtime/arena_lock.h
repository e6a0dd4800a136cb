// A shard's lock, held from construction; wait() and pause() give it up in between. Private to
// ArenaCache.
#pragma once

#include "runtime/arena_cache.h"

namespace forebay::runtime {

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

}  // namespace forebay::runtime
