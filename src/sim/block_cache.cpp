#include "sim/block_cache.h"

#include <algorithm>

namespace forebay::sim {
namespace {

// Touches ahead of the present one whose bucket and whose frame are fetched.
constexpr std::size_t bucket_ahead = 24;
constexpr std::size_t frame_ahead = 12;

ArenaShape arena_of(uint32_t frames, uint32_t shards) {
  ArenaShape shape;
  shape.shards = std::max(shards, 1u);
  shape.frames = std::max(frames / shape.shards, 1u) * shape.shards;
  return shape;
}

}  // namespace

BlockCache::BlockCache(const PolicySpec& policy, uint32_t frames, uint32_t shards)
    : shards_(policy, arena_of(frames, shards)) {}

bool BlockCache::access(PageKey key) {
  BasicShard<FrameSlot>& of_key = shards_.of(key);
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
    if (i + bucket_ahead < keys.size())
      shards_.of(keys[i + bucket_ahead]).prefetch_bucket(keys[i + bucket_ahead]);
    if (i + frame_ahead < keys.size())
      shards_.of(keys[i + frame_ahead]).prefetch_frame(keys[i + frame_ahead]);
    access(keys[i]);
  }
}

}  // namespace forebay::sim
