// One shard of a cache: which page is in which frame, and which frame goes next. Single-threaded;
// a driver that has several threads or processes locks it. Knows no bytes and does no I/O: where a
// victim must be written back first, the driver sees to that before it calls replace().
//
// Settlemyer 4.1: fully associative, keyed by file and page number, write-back.
#pragma once

#include <memory>
#include <span>

#include "engine/frame.h"
#include "extent/extent.h"
#include "policy/policy.h"

namespace forebay {

struct alignas(64) ShardState {  // in the arena
  FrameIndex first_frame = 0;    // frames [first_frame, first_frame + frame_count) are its own
  uint32_t frame_count = 0;
  uint32_t usable = 0;  // of these, the first `usable` have memory behind them
  FrameIndex free_head = no_frame;
  uint32_t resident = 0;
  uint32_t bucket_mask = 0;
  uint32_t rebuilds = 0;  // begun and ended; odd during one
};

enum class Acquire : uint8_t {
  hit,     // `frame` holds the page
  empty,   // `frame` is free: place() it
  victim,  // `frame` holds another page: clear it, then replace()
  grow,    // memory may be reserved for more frames: add_usable(), then ask again
  none,    // nothing can be evicted now
};

struct Acquired {
  Acquire outcome;
  FrameIndex frame;
};

// What must be written to make a page clean.
struct CommitShape {
  uint32_t requests = 0;  // contiguous extents; 0: the page is clean
  bool at_start = false;  // one of them begins with the page
  bool at_end = false;    // one ends with it
};

CommitShape shape_of(std::span<const Extent> dirty_regions, int64_t page_size);

// What a driver tells a shard of a frame.
class FrameStates {
 public:
  virtual bool evictable(FrameIndex frame) const = 0;  // no I/O is under way
  virtual CommitShape commit_shape(FrameIndex frame) const = 0;

 protected:
  ~FrameStates() = default;
};

// `Slot` is what a driver keeps of a frame: the runtime's Frame, or as little as a FrameSlot.
template <typename Slot>
class BasicShard {
 public:
  BasicShard(ShardState* state, FrameIndex* buckets, Slot* frames, std::unique_ptr<Policy> policy);

  // Makes the shard empty; once, by whoever creates the arena.
  void reset(FrameIndex first_frame, uint32_t frame_count, uint32_t buckets);

  FrameIndex find(PageKey key) const;
  // Asked without the shard's lock. False: the page is not resident.
  bool may_hold(PageKey key) const;
  // An access to `key` is to come: its bucket, and, a while later, its frame.
  void prefetch_bucket(PageKey key) const { __builtin_prefetch(&bucket(key)); }
  void prefetch_frame(PageKey key) const {
    if (const FrameIndex frame = bucket(key); frame != no_frame) {
      __builtin_prefetch(&frames_[frame]);
      policy_->prefetch(frame - state_->first_frame);
    }
  }
  // An access to `key`; `count` false when it continues the previous access of the same rank to the
  // same page, which the policy must not count twice.
  Acquired acquire(PageKey key, bool count, const FrameStates& states);
  // An access to the page of `frame`, which is resident.
  void hit(FrameIndex frame) { policy_->hit(frame - state_->first_frame, frames_[frame].key); }
  void add_usable(uint32_t frames);
  // No more memory is to be had: the shard stays at its present size.
  void stop_growing();
  // The page comes to a free frame, or to the victim in place of its page.
  void place(FrameIndex frame, PageKey key, uint32_t file_slot);
  void replace(FrameIndex frame, PageKey key, uint32_t file_slot);
  // The frame's page leaves the cache without being a victim.
  void release(FrameIndex frame);

  // Whoever held the shard's lock died: hash, free list and policy are made again from the frames'
  // keys, which are the truth.
  void rebuild();

  const ShardState& state() const { return *state_; }

 private:
  class Local;

  FrameIndex& bucket(PageKey key) const;
  uint32_t commit_cost(FrameIndex frame, const FrameStates& states) const;
  void link(FrameIndex frame, PageKey key, uint32_t file_slot);
  void unlink(FrameIndex frame);

  ShardState* state_;
  FrameIndex* buckets_;
  Slot* frames_;  // the arena's, indexed by FrameIndex
  std::unique_ptr<Policy> policy_;
};

using Shard = BasicShard<Frame>;

// Files that are open at the same time have different numbers modulo this.
inline constexpr uint64_t files_at_once = 1024;

// Which shard a page belongs to: runs of neighbouring pages share one. A file that follows another
// with the same number modulo files_at_once finds its frames, whose memory is warm.
uint32_t shard_of(PageKey key, uint32_t shards);

}  // namespace forebay
