// A cache of whole pages in virtual time: told which pages are touched, it counts hits, misses and
// evictions, by the shards and policies of the runtime. Knows no bytes; a page is in it or not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/shards.h"

namespace forebay::sim {

// As many of the frames as make a difference to a sequence of so many touches: a shard that holds
// every page does not change by being larger.
uint32_t useful_frames(uint32_t frames, uint64_t touches, uint32_t shards = 1);

class BlockCache final : private FrameStates {
 public:
  // `shards`: at least one, and no more than frames; frames that cannot be shared out evenly are
  // left out. A cache without frames holds no page: every access misses.
  BlockCache(const PolicySpec& policy, uint32_t frames, uint32_t shards = 1);

  // True: the page was in the cache. It is now.
  bool access(PageKey key);
  // The same for many, in order; faster than one by one.
  void access(std::span<const PageKey> keys);

  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }
  int64_t evictions() const { return evictions_; }
  uint32_t frames() const { return shards_ ? shards_->frames() : 0; }
  // Memory of the cache's own, in bytes.
  std::size_t state_bytes() const { return shards_ ? shards_->bytes() : 0; }

 private:
  bool evictable(FrameIndex) const override { return true; }
  CommitShape commit_shape(FrameIndex) const override { return {}; }

  std::optional<Shards> shards_;  // none without frames
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  int64_t evictions_ = 0;
};

}  // namespace forebay::sim
