// What a handle says of itself, against the plan.
#pragma once

#include "rank.h"

namespace random_io {

void query(Rank& rank, const Planned& planned);

}  // namespace random_io
