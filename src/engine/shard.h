// One shard of a cache: which page is in which frame, and which frame is evicted next. A shard does
// not lock: where several threads or processes use it, its user holds the shard's lock. It knows no
// bytes and does no I/O: its user writes a dirty victim back before it calls replace().
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
  FrameIndex first_frame = 0;    // the shard has frames [first_frame, first_frame + frame_count)
  uint32_t frame_count = 0;
  uint32_t usable = 0;  // the first `usable` frames have memory behind them
  FrameIndex free_head = no_frame;
  uint32_t resident = 0;
  uint32_t spare = 0;    // frames beyond those that the policy fills: for pages that leave
  uint32_t leaving = 0;  // resident pages that the policy has evicted
  uint32_t bucket_mask = 0;
  uint32_t rebuilds = 0;  // begun plus ended; odd during a rebuild
  // No page is of a file that came to rest so early (CacheArena::Header::rests).
  uint64_t rests = 0;
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

// The requests that make a page clean.
struct CommitShape {
  uint32_t requests = 0;  // contiguous extents; 0: the page is clean
  bool at_start = false;  // the first begins at the page's start
  bool at_end = false;    // the last ends at the page's end
};

CommitShape shape_of(std::span<const Extent> dirty_regions, int64_t page_size);

// What a shard asks about a frame.
class FrameStates {
 public:
  virtual bool evictable(FrameIndex frame) const = 0;  // no I/O is under way
  virtual CommitShape commit_shape(FrameIndex frame) const = 0;

 protected:
  ~FrameStates() = default;
};

// `Slot` is the type of a frame: the engine's Frame, or no more than a FrameSlot.
template <typename Slot>
class BasicShard {
 public:
  BasicShard(ShardState* state, FrameIndex* buckets, Slot* frames, std::unique_ptr<Policy> policy);

  // Makes the shard empty; called once, by the process that creates the arena. `spare`, of the
  // frames, take pages that leave.
  void reset(FrameIndex first_frame, uint32_t frame_count, uint32_t buckets, uint32_t spare = 0);

  FrameIndex find(PageKey key) const;
  // False: the page is not resident. May be called without the shard's lock.
  bool may_hold(PageKey key) const;
  // Bring what an access to `key` needs into the processor's cache: first the bucket, and, a while
  // later, the frame.
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
  void hit(FrameIndex frame) {
    if (!leaves(frames_[frame])) policy_->hit(frame - state_->first_frame, frames_[frame].key);
  }
  // What is foreseen of pages, for policies that use it. Time is counted in the shard's accesses.
  bool foresees() const { return policy_->foresees(); }
  uint64_t now() const { return policy_->now(); }
  void foresee(PageKey key, uint64_t when) { policy_->foresee(key, known(key), when); }
  void forget(PageKey key, uint64_t when) { policy_->forget(key, known(key), when); }
  void add_usable(uint32_t frames);
  // There is no more memory: the shard keeps its present size.
  void stop_growing();
  // Puts a page into a free frame, or into a victim's frame in place of the victim.
  void place(FrameIndex frame, PageKey key, uint32_t file_slot);
  void replace(FrameIndex frame, PageKey key, uint32_t file_slot);
  // The frame that acquire() would name as victim, with other states; no_frame: there is none.
  FrameIndex victim(PageKey key, const FrameStates& states) const;
  // Whether another victim may leave in the background.
  bool may_leave() const { return state_->leaving < state_->spare; }
  // A frame for a page whose victim leaves: empty, grow, or none (as many leave as may).
  Acquired acquire_spare() const;
  // Puts a page into a free frame in place of the victim, which leaves: it stays resident until
  // release(), but the policy no longer knows it.
  void retire(FrameIndex victim, FrameIndex frame, PageKey key, uint32_t file_slot);
  // Frees a frame: its page leaves the cache without being a victim, or has left.
  void release(FrameIndex frame);

  // Pages of files that came to rest up to this number have left.
  void note_rests(uint64_t rests) { state_->rests = rests; }

  // Makes hash, free list and policy again from the frames' keys, which are always right. Called
  // after a process died with the shard's lock.
  void rebuild();

  const ShardState& state() const { return *state_; }

 private:
  class Local;

  // Only the engine's frames hold pages that leave.
  static bool leaves(const Slot& slot) {
    if constexpr (requires { slot.leaving; }) return slot.leaving != 0;
    return false;
  }
  static void set_leaving(Slot& slot, bool leaving) {
    if constexpr (requires { slot.leaving; }) slot.leaving = leaving ? 1 : 0;
  }
  // Whether the policy may fill another frame.
  bool below_capacity() const {
    return state_->resident - state_->leaving < state_->frame_count - state_->spare;
  }
  // The frame of a page that the policy knows, by its number; no_frame: there is none.
  FrameIndex known(PageKey key) const {
    const FrameIndex frame = find(key);
    return frame == no_frame || leaves(frames_[frame]) ? no_frame : frame - state_->first_frame;
  }
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

// Which shard a page belongs to, of a power of two: runs of neighbouring pages share one. Any part
// of a file has about equally many pages in each shard, and so have the chunks that a node owns, or
// the columns of an array, at whatever distance they follow each other. A file that is opened after
// another with the same number modulo files_at_once gets the same shards, whose frames' memory is
// warm.
uint32_t shard_of(PageKey key, uint32_t shards);

}  // namespace forebay
