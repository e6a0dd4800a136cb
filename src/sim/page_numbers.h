// Pages by small numbers, in the order in which they are first touched. Where a cache finds a page
// is then a place in an array, next to that of the page that was touched before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/policy.h"

namespace forebay::sim {

class PageNumbers {
 public:
  PageNumbers();

  // The page's number; a new one for a page that is not known.
  uint32_t of(PageKey key);
  uint32_t count() const { return count_; }

 private:
  // Neighbouring pages lie together, so that a run of them takes one search.
  static constexpr int chunk_log2 = 3;
  static constexpr uint32_t none = 0xffffffffu;
  struct Chunk {
    PageKey key{};  // page: of the chunk
    uint32_t numbers[1 << chunk_log2];
  };

  Chunk& chunk_of(PageKey key);
  void grow();

  uint32_t count_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<uint32_t> table_;  // indices of chunks, open addressing
  std::size_t last_ = 0;         // the chunk that was asked for last
};

// The number of every touch's page; `pages`: how many there are.
std::vector<uint32_t> numbers_of(std::span<const PageKey> touches, uint32_t* pages);

}  // namespace forebay::sim
