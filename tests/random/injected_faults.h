// The operations that make storage fail and ranks die, and storage work again.
#pragma once

#include "rank.h"

namespace random_io {

void make_storage_fail(Rank& rank, const Planned& planned);
// Every byte whose write had returned can be brought to storage, and how far failed writes have
// made the files grow can be seen.
void heal_storage(Rank& rank, const Planned& planned);
// Ranks are to be killed within the next operations.
void arm_death(Rank& rank, const Planned& planned);
// Ranks are killed here.
void kill_ranks(Rank& rank, const Planned& planned);

}  // namespace random_io
