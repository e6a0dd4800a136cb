// The progress of long work, for another thread that waits for it.
#pragma once

#include <atomic>
#include <cstdint>

namespace forebay::sim {

struct Progress {
  static constexpr uint64_t step = 1 << 16;  // touches or accesses between two reports, roughly

  void add(uint64_t more) { done.fetch_add(more, std::memory_order_relaxed); }
  std::atomic<uint64_t> done{0};
  std::atomic<bool> stop{false};  // nobody waits any more; not all work looks at it
};

}  // namespace forebay::sim
