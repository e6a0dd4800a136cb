// The file views of a job, by number, and the runs of bytes of an access through a view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "extent/layout.h"

namespace forebay::trace {

struct Views {
  std::vector<Tiling> tilings;

  // nullptr: there is no such view.
  const Tiling* find(int64_t number) const {
    if (number < 0 || static_cast<std::size_t>(number) >= tilings.size()) return nullptr;
    return &tilings[static_cast<std::size_t>(number)];
  }
};

// Iterates over the runs of `bytes` data bytes of a view from `position` on.
class Runs {
 public:
  Runs(Tiling tiling, int64_t position, int64_t bytes);

  // False: the view has no such bytes, and there are no runs.
  bool exist() const { return exist_; }
  // False: there are no more runs.
  bool next(Extent& run);

 private:
  Tiling tiling_;
  bool exist_;
  Cursor cursor_;
  int64_t left_;
};

}  // namespace forebay::trace
