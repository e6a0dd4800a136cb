#include "sim/block_ids.h"

#include <algorithm>
#include <array>

#include "sim/belady.h"
#include "sim/block_cache.h"

namespace forebay::sim {
namespace {

// The ids as pages of one file.
void append_pages(std::span<const uint64_t> ids, std::span<PageKey> pages) {
  std::ranges::transform(ids, pages.begin(), [](uint64_t id) {
    return PageKey{1, static_cast<int64_t>(id)};
  });
}

}  // namespace

BlockCounts simulate_blocks(const PolicySpec& policy, std::span<const uint64_t> ids,
                            uint32_t frames, uint32_t shards) {
  BlockCache cache(policy, useful_frames(frames, ids.size(), shards), shards);
  std::array<PageKey, 4096> pages;
  while (!ids.empty()) {
    const std::size_t count = std::min(ids.size(), pages.size());
    append_pages(ids.first(count), pages);
    cache.access(std::span<const PageKey>(pages).first(count));
    ids = ids.subspan(count);
  }
  return {cache.hits(), cache.misses(), cache.evictions(), cache.state_bytes()};
}

std::vector<int64_t> min_block_hits(std::span<const uint64_t> ids,
                                    const std::vector<uint32_t>& frames) {
  std::vector<PageKey> touches(ids.size());
  append_pages(ids, touches);
  return min_hits(touches, frames);
}

}  // namespace forebay::sim
