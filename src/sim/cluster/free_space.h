// Which blocks of a simulated device are free.
#pragma once

#include <cstdint>
#include <map>

#include "extent/extent.h"

namespace forebay::sim {

// The free blocks of a device.
class FreeSpace {
 public:
  // `largest_part`: of the parts of the device in which objects begin, in blocks.
  FreeSpace(int64_t blocks, int64_t largest_part);

  // Takes up to `wanted` blocks that follow each other: at `goal`, if that is free, or else in a
  // part of the device of which nothing is taken, or else wherever some are free. Throws
  // std::length_error if the device is full.
  Extent take(int64_t goal, int64_t wanted);
  void give_back(Extent blocks);
  // Where a new object is to begin.
  int64_t fresh_goal();

 private:
  using Runs = std::map<int64_t, int64_t>;  // begin, end

  Runs::iterator run_with(int64_t block);
  Extent take_from(Runs::iterator run, int64_t begin, int64_t wanted);

  Runs runs_;
  int64_t blocks_;
  int64_t part_blocks_;
  int64_t next_part_ = 0;
};

}  // namespace forebay::sim
