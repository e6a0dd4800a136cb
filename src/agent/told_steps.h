// What a question did to the cache of an agent's node, step by step, with the option
// `deterministic` (runtime/cache/turn.h). The answer tells it, and the rank that asked records it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/address.h"
#include "extent/extent.h"
#include "runtime/cache/turn.h"

namespace forebay::agent {

// As bytes of an answer.
struct ToldStep {
  int64_t step = 0;  // trace::CacheStep
  int64_t argument = 0;
  int64_t bytes = 0;
  uint64_t sequence = 0;
};

// A step that reads or writes says only how many bytes: those of the question's extents that follow
// the steps before.
std::vector<ToldStep> told_steps(const std::vector<runtime::NumberedStep>& steps);

// Notes on the rank's thread what the answer tells of a question with these extents. `cache`:
// number_of_cache() of the agent's node.
void note_told(std::span<const ToldStep> steps, std::span<const Extent> extents, uint64_t cache);

// The cache of an agent's node, as traces name it; never 0. It does not give away the key.
uint64_t number_of_cache(const Key& agent);

}  // namespace forebay::agent
