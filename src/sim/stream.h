// What caches are shown, with pages by small numbers: made once, then looked at by every
// simulation.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policy/policy.h"
#include "sim/progress.h"
#include "sim/touches.h"

namespace forebay::sim {

struct CacheCounts {
  int64_t hits = 0, misses = 0, evictions = 0;
};

class Stream {
 public:
  struct Cache {
    std::span<const uint32_t> touches;  // numbers of pages
    std::span<const uint32_t> marks;    // of each page: by its hash, the same in every cache
    uint32_t pages() const { return static_cast<uint32_t>(marks.size()); }
  };

  Stream() = default;
  explicit Stream(Shown shown);

  std::size_t caches() const { return touch_ends_.size(); }
  Cache cache(std::size_t number) const;
  std::size_t touches() const { return touches_.size(); }
  std::size_t pages() const { return marks_.size(); }  // of all caches

  // The touches of pages whose mark is in [low, high): a sample of the pages, since marks are
  // spread evenly over 32 bits. The caches are the same.
  Stream sampled(uint64_t low, uint64_t high) const;

 private:
  std::vector<uint32_t> touches_, marks_;            // cache by cache
  std::vector<std::size_t> touch_ends_, mark_ends_;  // of each cache
};

// What caches of so many frames count together; `frames`: of each cache of the stream. `progress`
// is told of all touches, once.
CacheCounts simulate(const Stream& stream, const PolicySpec& policy,
                     std::span<const uint32_t> frames, Progress& progress);
// The same by Belady's MIN, which takes in every page that it misses; at most most_touches.
// `progress` is told of them twice.
CacheCounts simulate_min(const Stream& stream, std::span<const uint32_t> frames,
                         Progress& progress);

}  // namespace forebay::sim
