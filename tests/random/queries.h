// Compares what a handle reports about itself with the plan.
#pragma once

#include "rank.h"

namespace random_io {

void query(Rank& rank, const Planned& planned);

}  // namespace random_io
