// A block cache for pages that have numbers. It uses the policies of the runtime, and an array
// instead of the shard's table. Its hits and evictions are those of a BlockCache of one shard; it
// is several times as fast.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "policy/policy.h"

namespace forebay::sim {

class NumberedCache final : private Candidates {
 public:
  // The pages have numbers below `pages`. Without frames the cache holds no page.
  NumberedCache(const PolicySpec& policy, uint32_t frames, uint32_t pages);

  void access(std::span<const uint32_t> touches);

  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }
  int64_t evictions() const { return evictions_; }

 private:
  static PageKey key(uint32_t page) { return {1, page}; }
  bool evictable(FrameIndex) const override { return true; }
  uint32_t commit_cost(FrameIndex) const override { return 0; }
  void prefetch(std::span<const uint32_t> touches, std::size_t i) const;
  void miss(uint32_t page);

  uint32_t frames_;
  uint32_t used_ = 0;
  std::vector<uint64_t> state_;  // of the policy
  std::unique_ptr<Policy> policy_;
  std::vector<FrameIndex> frame_of_;  // per page
  std::vector<uint32_t> page_in_;     // per frame in use
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  int64_t evictions_ = 0;
};

}  // namespace forebay::sim
