// Belady's MIN, the most hits that any replacement policy can reach. It evicts the page that is
// touched again last, or never, so it must know the whole sequence. Like the policies, it caches
// every page that is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "policy/policy.h"
#include "sim/progress.h"

namespace forebay::sim {

// Touches are numbered with 32 bits.
inline constexpr std::size_t most_touches = std::numeric_limits<uint32_t>::max() - 1;

// The hits of a cache for each size in `frames`, in pages, over `touches`, at most most_touches.
// Takes about 40 bytes of memory per touch.
std::vector<int64_t> min_hits(std::span<const PageKey> touches, std::span<const uint32_t> frames);

// The same for pages with numbers below `pages`. `progress` counts all touches once per size, and
// once more.
std::vector<int64_t> min_hits(std::span<const uint32_t> touches, uint32_t pages,
                              std::span<const uint32_t> frames, Progress& progress);

}  // namespace forebay::sim
