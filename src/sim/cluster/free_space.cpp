#include "sim/cluster/free_space.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace forebay::sim {
namespace {

constexpr int64_t device_parts = 64;  // at least

}  // namespace

FreeSpace::FreeSpace(int64_t blocks, int64_t largest_part)
    : blocks_(blocks),
      part_blocks_(std::max<int64_t>(1, std::min(blocks / device_parts, largest_part))) {
  if (blocks > 0) runs_.emplace(0, blocks);
}

FreeSpace::Runs::iterator FreeSpace::run_with(int64_t block) {
  const auto after = runs_.upper_bound(block);
  if (after == runs_.begin()) return runs_.end();
  const auto run = std::prev(after);
  return block < run->second ? run : runs_.end();
}

Extent FreeSpace::take(int64_t goal, int64_t wanted) {
  auto run = run_with(goal);
  if (run == runs_.end()) {
    goal = fresh_goal();
    run = run_with(goal);
  }
  if (run == runs_.end()) {
    run = runs_.upper_bound(goal);
    if (run == runs_.end()) run = runs_.begin();
    if (run == runs_.end()) {
      throw std::length_error("a simulated device of " + std::to_string(blocks_) +
                              " blocks is full");
    }
    goal = run->first;
  }
  return take_from(run, goal, wanted);
}

Extent FreeSpace::take_from(Runs::iterator run, int64_t begin, int64_t wanted) {
  const int64_t run_end = run->second;
  const int64_t end = std::min(run_end, begin + wanted);
  if (begin == run->first) {
    runs_.erase(run);
  } else {
    run->second = begin;
  }
  if (end < run_end) runs_.emplace(end, run_end);
  return {begin, end - begin};
}

void FreeSpace::give_back(Extent blocks) {
  int64_t begin = blocks.offset, end = blocks.end();
  auto next = runs_.lower_bound(begin);
  if (next != runs_.end() && next->first == end) {
    end = next->second;
    next = runs_.erase(next);
  }
  if (next != runs_.begin() && std::prev(next)->second == begin) {
    begin = std::prev(next)->first;
    runs_.erase(std::prev(next));
  }
  runs_.emplace(begin, end);
}

// The next part of the device that is wholly free; if none is, simply the next part.
int64_t FreeSpace::fresh_goal() {
  const int64_t parts = std::max<int64_t>(1, blocks_ / part_blocks_);
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t part = (next_part_ + i) % parts;
    const auto run = run_with(part * part_blocks_);
    if (run == runs_.end() || run->second < (part + 1) * part_blocks_) continue;
    next_part_ = part + 1;
    return part * part_blocks_;
  }
  return next_part_++ % parts * part_blocks_;
}

}  // namespace forebay::sim
