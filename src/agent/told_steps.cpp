#include "agent/told_steps.h"

#include <algorithm>

#include "extent/status.h"
#include "runtime/cache/access_extents.h"

namespace forebay::agent {
namespace {

using runtime::CacheStep;
using runtime::NumberedStep;

bool is_step(int64_t number) {
  return number >= 0 && number <= static_cast<int64_t>(CacheStep::drop_range);  // the last one
}

bool moves_bytes(CacheStep step) { return step == CacheStep::read || step == CacheStep::write; }

// The first bytes of the extents, which are taken away from them.
std::vector<Extent> take_first(std::vector<Extent>& extents, int64_t bytes) {
  std::vector<Extent> first;
  auto next = extents.begin();
  for (; bytes > 0 && next != extents.end(); ++next) {
    const Extent taken{next->offset, std::min(bytes, next->length)};
    first.push_back(taken);
    bytes -= taken.length;
    *next = {taken.end(), next->length - taken.length};
    if (!next->empty()) break;
  }
  extents.erase(extents.begin(), next);
  return first;
}

}  // namespace

std::vector<ToldStep> told_steps(const std::vector<NumberedStep>& steps) {
  std::vector<ToldStep> told;
  told.reserve(steps.size());
  for (const NumberedStep& step : steps)
    told.push_back({static_cast<int64_t>(step.step), step.argument, step.bytes, step.sequence});
  return told;
}

void note_told(std::span<const ToldStep> steps, std::span<const Extent> extents, uint64_t cache) {
  (void)within_memory([&] {  // else they are missing
    std::vector<Extent> left(extents.begin(), extents.end());
    for (const ToldStep& told : steps) {
      if (!is_step(told.step) || told.bytes < 0) continue;  // then its number is missing
      NumberedStep step{
          static_cast<CacheStep>(told.step), told.argument, told.bytes, told.sequence, cache, {}};
      if (moves_bytes(step.step)) {
        const std::vector<Extent> part = take_first(left, told.bytes);
        if (part.empty()) continue;
        step.argument = part.size() == 1 ? part.front().offset : 0;
        if (part.size() > 1) step.view = runtime::view_of(part);
      }
      runtime::NumberedSteps::note(step);
    }
  });
}

uint64_t number_of_cache(const Key& agent) {
  constexpr uint64_t bits = INT64_MAX;
  uint64_t number = agent[0] ^ (agent[1] * 0x9e3779b97f4a7c15u);
  for (int round = 0; round < 2; ++round) number = (number ^ (number >> 31)) * 0xbf58476d1ce4e5b9u;
  return std::max<uint64_t>(number & bits, 1);
}

}  // namespace forebay::agent
