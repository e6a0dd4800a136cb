// The flat memory of one cache: the places of shards, frames, page states and page data in it. Only
// arithmetic on a base address. The memory itself may be the heap, a private mapping, or shared
// memory at a different address in each process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace forebay {

struct ArenaShape {
  int64_t page_size = 0;  // bytes, a multiple of 64
  uint32_t frames = 0;    // of all shards; a multiple of shards
  uint32_t shards = 1;
  std::size_t page_state_bytes = 0;    // of one frame (PageKind::state_bytes)
  std::size_t policy_state_bytes = 0;  // of one shard (PolicySpec::state_bytes)
  std::size_t shard_state_bytes = 0;   // of one shard (sizeof(ShardState))
  std::size_t frame_state_bytes = 0;   // of one frame (sizeof(Frame))
  std::size_t driver_shard_bytes = 0;  // of one shard, for the driver's lock

  uint32_t frames_per_shard() const { return frames / shards; }
  uint32_t buckets_per_shard() const;  // a power of two
};

// Chooses frames and shards for a capacity: at least one frame; one shard below 128 frames, unless
// `shards` > 0 gives their number.
ArenaShape shape_arena(int64_t capacity_bytes, int64_t page_size, int64_t shards);

// Byte offsets from the arena's base. The small parts before the frames are reserved at once.
// Frames, page states and page data get memory as shards grow; page data begins on a 4096-byte
// boundary.
struct ArenaLayout {
  std::size_t shards, driver, buckets, policies, frames, page_states, data, total;
  std::size_t driver_stride, policy_stride, page_state_stride;
  ArenaLayout(const ArenaShape& shape, std::size_t header_bytes);
};

}  // namespace forebay
