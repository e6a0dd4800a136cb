#include "engine/cache_arena.h"

#include <algorithm>
#include <new>

#include "engine/rules.h"

namespace forebay {
namespace {

ArenaShape arena_shape(const CacheShape& cache, std::size_t driver_shard_bytes) {
  ArenaShape shape = shape_arena(cache.capacity_bytes, cache.page_size, cache.shards);
  shape.page_state_bytes = cache.page_kind->state_bytes(cache.page_size);
  shape.policy_state_bytes = cache.policy->state_bytes(shape.frames_per_shard());
  shape.shard_state_bytes = sizeof(ShardState);
  shape.frame_state_bytes = sizeof(Frame);
  shape.driver_shard_bytes = driver_shard_bytes;
  return shape;
}

}  // namespace

CacheArena::CacheArena(const CacheShape& shape, std::size_t driver_shard_bytes)
    : kind_(shape.page_kind),
      policy_(shape.policy),
      write_back_buffer_(shape.write_back_buffer),
      shape_(arena_shape(shape, driver_shard_bytes)),
      layout_(shape_, sizeof(Header)) {}

void CacheArena::attach(std::byte* base) {
  base_ = base;
  header_ = reinterpret_cast<Header*>(base);
  frames_ = reinterpret_cast<Frame*>(base + layout_.frames);
  auto* states = reinterpret_cast<ShardState*>(base + layout_.shards);
  auto* buckets = reinterpret_cast<FrameIndex*>(base + layout_.buckets);
  shards_.clear();
  for (uint32_t s = 0; s < shape_.shards; ++s) {
    shards_.emplace_back(states + s, buckets + std::size_t{s} * shape_.buckets_per_shard(), frames_,
                         policy_->attach(base + layout_.policies + s * layout_.policy_stride,
                                         shape_.frames_per_shard()));
  }
}

void CacheArena::create(std::byte* base) {
  attach(base);
  new (header_) Header{};
  const uint32_t frames = shape_.frames_per_shard();
  const uint32_t spare =
      std::min(static_cast<uint32_t>(write_back_buffer_ * frames), most_spare(frames));
  for (uint32_t s = 0; s < shape_.shards; ++s)
    shards_[s].reset(s * frames, frames, shape_.buckets_per_shard(), spare);
}

}  // namespace forebay
