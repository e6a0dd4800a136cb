#include "arena/arena.h"

#include <algorithm>
#include <bit>

namespace forebay {

namespace {

constexpr int64_t least_frames_for_shards = 128;
constexpr int64_t frames_a_shard = 64;
constexpr int64_t most_shards = 64;
constexpr int64_t most_frames = 1 << 28;
constexpr uint32_t most_buckets = uint32_t{1} << 31;
constexpr std::size_t cache_line = 64;
constexpr std::size_t memory_page = 4096;

std::size_t align_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

}  // namespace

uint32_t ArenaShape::buckets_per_shard() const {
  return std::bit_ceil(std::clamp(frames_per_shard(), 1u, most_buckets / 2) * 2);
}

ArenaShape shape_arena(int64_t capacity_bytes, int64_t page_size, int64_t shards) {
  ArenaShape shape;
  shape.page_size = page_size;
  const int64_t frames = std::clamp<int64_t>(capacity_bytes / page_size, 1, most_frames);
  int64_t wanted = shards;
  if (wanted <= 0) wanted = frames < least_frames_for_shards ? 1 : frames / frames_a_shard;
  wanted = std::clamp<int64_t>(wanted, 1, std::min(most_shards, frames));
  shape.shards = static_cast<uint32_t>(std::bit_floor(static_cast<uint64_t>(wanted)));
  shape.frames = static_cast<uint32_t>(frames / shape.shards) * shape.shards;
  return shape;
}

ArenaLayout::ArenaLayout(const ArenaShape& shape, std::size_t header_bytes) {
  std::size_t at = header_bytes;
  const auto place = [&at](std::size_t bytes, std::size_t alignment) {
    const std::size_t here = align_up(at, alignment);
    at = here + bytes;
    return here;
  };
  driver_stride = align_up(shape.driver_shard_bytes, cache_line);
  policy_stride = align_up(shape.policy_state_bytes, cache_line);
  page_state_stride = align_up(shape.page_state_bytes, cache_line);
  shards = place(shape.shard_state_bytes * shape.shards, cache_line);
  driver = place(driver_stride * shape.shards, cache_line);
  buckets = place(sizeof(uint32_t) * shape.buckets_per_shard() * shape.shards, cache_line);
  policies = place(policy_stride * shape.shards, cache_line);
  frames = place(shape.frame_state_bytes * shape.frames, cache_line);
  page_states = place(page_state_stride * shape.frames, memory_page);
  data = place(static_cast<std::size_t>(shape.page_size) * shape.frames, memory_page);
  total = align_up(at, memory_page);
}

}  // namespace forebay
