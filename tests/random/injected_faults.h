// Operations that make storage fail, kill ranks, and make storage work again.
#pragma once

#include "rank.h"

namespace random_io {

void make_storage_fail(Rank& rank, const Planned& planned);
// Storage works again. Brings every byte whose write returned to storage, and finds out how far
// failed writes extended the files.
void heal_storage(Rank& rank, const Planned& planned);
// Ranks are to be killed within the next operations.
void arm_death(Rank& rank, const Planned& planned);
// Ranks are killed now.
void kill_ranks(Rank& rank, const Planned& planned);

}  // namespace random_io
