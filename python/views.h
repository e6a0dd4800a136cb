// The views of a job, by number, as Python hands them around.
#pragma once

#include <vector>

#include "extent/layout.h"

namespace forebay {

struct Views {
  std::vector<Tiling> tilings;
};

}  // namespace forebay
