// Simulations of blocks, each known by one number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/policy.h"

namespace forebay::sim {

inline constexpr uint32_t most_shards = 64;  // the runtime's limit

struct BlockCounts {
  int64_t hits = 0, misses = 0, evictions = 0;
  std::size_t state_bytes = 0;  // memory of the cache itself
};

// `shards`: from 1 to most_shards.
BlockCounts simulate_blocks(const PolicySpec& policy, std::span<const uint64_t> ids,
                            uint32_t frames, uint32_t shards);

// Hits of Belady's MIN for caches of each size in `frames`, in blocks. At most most_touches ids.
std::vector<int64_t> min_block_hits(std::span<const uint64_t> ids,
                                    const std::vector<uint32_t>& frames);

}  // namespace forebay::sim
