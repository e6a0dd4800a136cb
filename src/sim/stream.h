// The touches of pages that each simulated cache is shown. Pages have small numbers. A stream is
// made once; every simulation reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policy/policy.h"
#include "sim/page_numbers.h"
#include "sim/pieces.h"
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
    std::span<const uint32_t> marks;    // per page: a hash, the same in every cache
    // The accesses that make the touches, if they were recorded, and the numbers of their pages.
    std::span<const Piece> pieces;
    const PageNumbers* numbers;  // null: there are no places of accesses, only pages
    int64_t page_bytes;
    int64_t least_past;
    uint32_t pages() const { return static_cast<uint32_t>(marks.size()); }
  };

  Stream() = default;
  explicit Stream(Shown shown);
  // One cache is shown all of `keys`, each by an access of its own.
  explicit Stream(std::vector<PageKey> keys);

  std::size_t caches() const { return touch_ends_.size(); }
  Cache cache(std::size_t number) const;
  std::size_t touches() const { return touches_.size(); }
  std::size_t pages() const { return marks_.size(); }  // of all caches

  // Accesses to each cache, those that went past it included; empty for a sample.
  const std::vector<uint64_t>& accesses() const { return accesses_; }
  // Accesses that went past a cache, wholly or in part, and their bytes that did; 0 for a sample.
  uint64_t past_accesses() const { return past_accesses_; }
  uint64_t past_bytes() const { return past_bytes_; }
  // Whether simulate_informed() can be used.
  bool has_order() const { return has_order_; }

  // A sample: the touches of the pages whose mark is in [low, high). Marks are spread evenly over
  // 32 bits. The number of caches stays the same.
  Stream sampled(uint64_t low, uint64_t high) const;

 private:
  std::vector<uint32_t> touches_, marks_;            // cache by cache
  std::vector<std::size_t> touch_ends_, mark_ends_;  // of each cache
  std::vector<uint64_t> accesses_;
  uint64_t past_accesses_ = 0, past_bytes_ = 0;
  bool has_order_ = false;
  std::vector<Piece> pieces_;  // cache by cache
  std::vector<std::size_t> piece_ends_;
  std::vector<PageNumbers> numbers_;  // per cache
  int64_t page_bytes_ = 1;
  std::vector<int64_t> least_past_;  // per cache
};

// The counts of all caches together; `frames`: per cache of the stream. `progress` counts each
// touch once.
CacheCounts simulate(const Stream& stream, const PolicySpec& policy,
                     std::span<const uint32_t> frames, Progress& progress);
// The same with InformedPolicy, which sees the order of each process's accesses. The stream must
// have it.
CacheCounts simulate_informed(const Stream& stream, std::span<const uint32_t> frames,
                              Progress& progress);
// The same with Belady's MIN, which caches every page that it misses; at most most_touches.
// `progress` counts each touch twice.
CacheCounts simulate_min(const Stream& stream, std::span<const uint32_t> frames,
                         Progress& progress);

}  // namespace forebay::sim
