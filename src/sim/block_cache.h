// A cache of whole pages in virtual time. It is told which pages are touched and counts hits,
// misses and evictions, with the shards and policies of the runtime. It knows no bytes: a page is
// either cached or not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/shards.h"

namespace forebay::sim {

// The frames that matter for a sequence of `touches` touches: a shard that has room for every page
// behaves the same with more frames.
uint32_t useful_frames(uint32_t frames, uint64_t touches, uint32_t shards = 1);

class BlockCache final : private FrameStates {
 public:
  // `shards`: as many, or the next power of two below, at most `frames`. Frames that cannot be
  // divided evenly among the shards are left out. Without frames the cache holds no page, and every
  // access misses.
  BlockCache(const PolicySpec& policy, uint32_t frames, uint32_t shards = 1);

  // Whether the page was cached. It is cached afterwards.
  bool access(PageKey key);
  // The same for many pages, in order; faster than one by one.
  void access(std::span<const PageKey> keys);

  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }
  int64_t evictions() const { return evictions_; }
  uint32_t frames() const { return shards_ ? shards_->frames() : 0; }
  // Memory of the cache itself, in bytes.
  std::size_t state_bytes() const { return shards_ ? shards_->bytes() : 0; }

 private:
  bool evictable(FrameIndex) const override { return true; }
  CommitShape commit_shape(FrameIndex) const override { return {}; }

  std::optional<Shards> shards_;  // empty without frames
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  int64_t evictions_ = 0;
};

}  // namespace forebay::sim
