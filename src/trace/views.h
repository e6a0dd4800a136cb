// The file views of a job, by number, and the runs of bytes that an access has through one.
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

// The runs of `bytes` data bytes from `position` on, one after the other; none where the view has
// no such bytes.
class Runs {
 public:
  Runs(Tiling tiling, int64_t position, int64_t bytes);

  bool exist() const { return exist_; }
  // False: that was the last.
  bool next(Extent& run);

 private:
  Tiling tiling_;
  bool exist_;
  Cursor cursor_;
  int64_t left_;
};

}  // namespace forebay::trace
