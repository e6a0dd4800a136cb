#include "sim/block_cache.h"

#include <algorithm>
#include <bit>

namespace forebay::sim {
namespace {

// How many touches ahead of the current one the bucket and the frame are prefetched.
constexpr std::size_t bucket_ahead = 24;
constexpr std::size_t frame_ahead = 12;

ArenaShape arena_of(uint32_t frames, uint32_t shards) {
  ArenaShape shape;
  shape.shards = std::bit_floor(std::clamp(shards, 1u, frames));
  shape.frames = frames / shape.shards * shape.shards;
  return shape;
}

}  // namespace

uint32_t useful_frames(uint32_t frames, uint64_t touches, uint32_t shards) {
  const uint64_t a_shard = std::min<uint64_t>(frames, touches);
  return static_cast<uint32_t>(std::min<uint64_t>(frames, a_shard * std::max(shards, 1u)));
}

BlockCache::BlockCache(const PolicySpec& policy, uint32_t frames, uint32_t shards) {
  if (frames > 0) shards_.emplace(policy, arena_of(frames, shards));
}

bool BlockCache::access(PageKey key) {
  if (!shards_) {
    ++misses_;
    return false;
  }
  BasicShard<FrameSlot>& of_key = shards_->of(key);
  const Acquired acquired = of_key.acquire(key, true, *this);
  if (acquired.outcome == Acquire::hit) {
    ++hits_;
    return true;
  }
  ++misses_;
  if (acquired.outcome == Acquire::empty) {
    of_key.place(acquired.frame, key, 0);
  } else {
    of_key.replace(acquired.frame, key, 0);
    ++evictions_;
  }
  return false;
}

void BlockCache::access(std::span<const PageKey> keys) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (shards_ && i + bucket_ahead < keys.size())
      shards_->of(keys[i + bucket_ahead]).prefetch_bucket(keys[i + bucket_ahead]);
    if (shards_ && i + frame_ahead < keys.size())
      shards_->of(keys[i + frame_ahead]).prefetch_frame(keys[i + frame_ahead]);
    access(keys[i]);
  }
}

}  // namespace forebay::sim
