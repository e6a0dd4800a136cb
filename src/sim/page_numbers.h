// Numbers pages in the order of their first touch. A cache then finds a page at a place in an
// array, next to the page that was touched first before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/policy.h"

namespace forebay::sim {

inline constexpr uint32_t no_number = 0xffffffffu;

class PageNumbers {
 public:
  PageNumbers();

  // The page's number. A page without a number gets the next one.
  uint32_t of(PageKey key);
  // The page's number, or no_number.
  uint32_t find(PageKey key) const;
  uint32_t count() const { return count_; }

 private:
  // Neighbouring pages share a chunk, so a run of pages takes one search.
  static constexpr int chunk_log2 = 3;
  static constexpr uint32_t none = no_number;
  struct Chunk {
    PageKey key{};  // its page member is the chunk's number
    uint32_t numbers[1 << chunk_log2];
  };

  std::size_t place_of(PageKey key) const;
  Chunk& chunk_of(PageKey key);
  void grow();

  uint32_t count_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<uint32_t> table_;  // indices of chunks, open addressing
  std::size_t last_ = 0;         // index of the latest chunk used
};

// The number of each touch's page. `pages` receives how many different pages there are.
std::vector<uint32_t> numbers_of(std::span<const PageKey> touches, uint32_t* pages);

}  // namespace forebay::sim
