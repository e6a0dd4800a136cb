// Ranks of several nodes, as one handle's ranks know each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace forebay::mpiio {

// The lowest rank of each node, in ascending order; `node` tells whose node it is.
template <typename Rank>
std::vector<int> lowest_of_nodes(const std::vector<Rank>& ranks, int64_t Rank::*node) {
  std::vector<int> lowest;
  std::unordered_set<int64_t> known;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (known.insert(ranks[rank].*node).second) lowest.push_back(static_cast<int>(rank));
  }
  return lowest;
}

}  // namespace forebay::mpiio
