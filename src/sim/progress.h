// How far long work has come, for whoever waits for it in another thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace forebay::sim {

struct Progress {
  static constexpr uint64_t step = 1 << 16;  // that work is reported by, roughly

  void add(uint64_t more) { done.fetch_add(more, std::memory_order_relaxed); }
  std::atomic<uint64_t> done{0};
};

}  // namespace forebay::sim
