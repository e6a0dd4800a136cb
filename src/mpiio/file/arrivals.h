// Ranks of one node that arrive at a collective call, counted in shared memory: this costs a
// fraction of a barrier of the MPI library.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// Counts this rank at a collective call of a handle with shared words, once a call. Returns how
// many have been counted so far: the last of a call's ranks makes it a multiple of the handle's
// ranks.
int64_t arrive(Handle& handle);

// The ranks wait for each other at the beginning of a blocking collective access, so that what any
// of them wrote before it lies below what any writes after it, and is seen by what any reads after
// it. The MPI standard promises this only after a sync, but libraries on top of MPI rely on it.
// Does nothing where the ranks have caches apart, or are on several nodes (hand_over.h).
void wait_for_ranks(Handle& handle);

}  // namespace forebay::mpiio
