// Belady's MIN: the bound on what any replacement policy can reach. It evicts the page that is
// touched again last, or never, so it must know the whole sequence. Like a policy it takes in every
// page that is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "policy/policy.h"
#include "sim/progress.h"

namespace forebay::sim {

// More cannot be told apart.
inline constexpr std::size_t most_touches = std::numeric_limits<uint32_t>::max() - 1;

// The hits of a cache of each of `frames` pages over all of `touches`, at most `most_touches`.
// Takes some 40 bytes of memory a touch while it works.
std::vector<int64_t> min_hits(std::span<const PageKey> touches, std::span<const uint32_t> frames);

// The same for pages with numbers below `pages`. `progress` is told of all touches for each size,
// and once more.
std::vector<int64_t> min_hits(std::span<const uint32_t> touches, uint32_t pages,
                              std::span<const uint32_t> frames, Progress& progress);

}  // namespace forebay::sim
