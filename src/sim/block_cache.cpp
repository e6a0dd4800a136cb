#include "sim/block_cache.h"

#include <algorithm>

#include "arena/arena.h"

namespace forebay::sim {
namespace {

// Touches ahead of the present one whose bucket and whose frame are fetched.
constexpr std::size_t bucket_ahead = 24;
constexpr std::size_t frame_ahead = 12;

}  // namespace

BlockCache::BlockCache(const PolicySpec& policy, uint32_t frames, uint32_t shards) {
  shards = std::max(shards, 1u);
  ArenaShape shape;
  shape.shards = shards;
  shape.frames = std::max(frames / shards, 1u) * shards;
  const uint32_t of_shard = shape.frames_per_shard();
  const uint32_t buckets = shape.buckets_per_shard();
  const std::size_t policy_words = (policy.state_bytes(of_shard) + 7) / 8;
  slots_.resize(shape.frames);
  shard_states_.resize(shards);
  buckets_.resize(std::size_t{buckets} * shards);
  policy_states_.resize(policy_words * shards);
  for (uint32_t s = 0; s < shards; ++s) {
    shards_.emplace_back(&shard_states_[s], &buckets_[std::size_t{buckets} * s], slots_.data(),
                         policy.attach(&policy_states_[policy_words * s], of_shard));
    shards_.back().reset(s * of_shard, of_shard, buckets);
    shards_.back().add_usable(of_shard);
  }
}

std::size_t BlockCache::state_bytes() const {
  return slots_.size() * sizeof(FrameSlot) + shard_states_.size() * sizeof(ShardState) +
         buckets_.size() * sizeof(FrameIndex) + policy_states_.size() * sizeof(uint64_t);
}

BasicShard<FrameSlot>& BlockCache::shard(PageKey key) {
  return shards_.size() == 1 ? shards_.front()
                             : shards_[shard_of(key, static_cast<uint32_t>(shards_.size()))];
}

bool BlockCache::access(PageKey key) {
  BasicShard<FrameSlot>& of_key = shard(key);
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
      shard(keys[i + bucket_ahead]).prefetch_bucket(keys[i + bucket_ahead]);
    if (i + frame_ahead < keys.size())
      shard(keys[i + frame_ahead]).prefetch_frame(keys[i + frame_ahead]);
    access(keys[i]);
  }
}

}  // namespace forebay::sim
