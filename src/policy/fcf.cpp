#include "policy/fcf.h"

#include <algorithm>
#include <limits>

namespace forebay {
namespace {

// The share of the frames that victim() compares, so that pages in use stay; at most
// most_looked_at.
constexpr uint32_t share_looked_at = 4;
constexpr uint32_t most_looked_at = 64;

}  // namespace

FcfPolicy::FcfPolicy(void* state, uint32_t frames)
    : links_(static_cast<Link*>(state)),
      ring_(frames),
      candidates_(std::clamp(frames / share_looked_at, 1u, most_looked_at)) {}

FrameIndex FcfPolicy::victim(PageKey, const Candidates& candidates) {
  FrameIndex best = no_frame;
  uint32_t least = std::numeric_limits<uint32_t>::max();
  uint32_t seen = 0;
  for (FrameIndex i = links_.back(ring_); i != ring_ && seen < candidates_; i = links_.before(i)) {
    if (!candidates.evictable(i)) continue;
    ++seen;
    const uint32_t cost = candidates.commit_cost(i);
    if (cost >= least) continue;
    best = i;
    least = cost;
    if (cost == 0) break;
  }
  return best;
}

}  // namespace forebay
