// The flat memory of one cache: where shards, frames, page states and page data lie in it.
// Pure layout arithmetic over a base address; the memory itself may be the heap, a private mapping
// or shared memory, at different addresses in different processes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

struct ArenaShape {
  int64_t page_size = 0;  // bytes, a multiple of 64
  uint32_t frames = 0;    // in all; a multiple of shards
  uint32_t shards = 1;
  std::size_t page_state_bytes = 0;    // of one frame (PageKind::state_bytes)
  std::size_t policy_state_bytes = 0;  // of one shard (PolicySpec::state_bytes)
  std::size_t shard_state_bytes = 0;   // of one shard (sizeof(ShardState))
  std::size_t frame_state_bytes = 0;   // of one frame (sizeof(Frame))
  std::size_t driver_shard_bytes = 0;  // of one shard, for the driver's lock

  uint32_t frames_per_shard() const { return frames / shards; }
  uint32_t buckets_per_shard() const;  // a power of two
};

// Chooses frames and shards for a capacity: at least one frame; one shard below 128 frames unless
// `shards` says otherwise (> 0).
ArenaShape shape_arena(int64_t capacity_bytes, int64_t page_size, int64_t shards);

// Byte offsets from the arena's base. What stands before the frames is small and reserved at once;
// frames, page states and page data, which begins on a 4096-byte boundary, get memory as shards
// grow.
struct ArenaLayout {
  std::size_t shards, driver, buckets, policies, frames, page_states, data, total;
  std::size_t driver_stride, policy_stride, page_state_stride;
  ArenaLayout(const ArenaShape& shape, std::size_t header_bytes);
};

}  // namespace forebay
