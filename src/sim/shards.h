// The engine's shards on the heap, over frames without memory for data. All simulated caches use
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arena/arena.h"
#include "engine/shard.h"

namespace forebay::sim {

class Shards {
 public:
  // Uses only the numbers of frames and shards in `shape`. All frames are usable at once.
  Shards(const PolicySpec& policy, const ArenaShape& shape);

  BasicShard<FrameSlot>& of(PageKey key) {
    return shards_.size() == 1 ? shards_.front()
                               : shards_[shard_of(key, static_cast<uint32_t>(shards_.size()))];
  }
  BasicShard<FrameSlot>& holding(FrameIndex frame) { return shards_[frame / frames_per_shard_]; }
  PageKey key(FrameIndex frame) const { return slots_[frame].key; }
  uint32_t frames() const { return static_cast<uint32_t>(slots_.size()); }
  // Memory in bytes.
  std::size_t bytes() const;

 private:
  uint32_t frames_per_shard_;
  std::vector<FrameSlot> slots_;
  std::vector<ShardState> states_;
  std::vector<FrameIndex> buckets_;
  std::vector<uint64_t> policies_;
  std::vector<BasicShard<FrameSlot>> shards_;
};

}  // namespace forebay::sim
