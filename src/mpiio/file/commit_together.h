// Committing what all ranks of a handle wrote, when all have come: a rank that came first would
// commit pages that the others are still filling. For sync and close.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// Called by all ranks, without the handle's lock. Afterwards storage has every byte that they wrote
// before; else all are told of the failure.
Status commit_together(Handle& handle);
// Called by any rank alone, for what its cache holds.
Status commit(Handle& handle);
// Likewise; the cache keeps none of it.
Status make_coherent(Handle& handle);

}  // namespace forebay::mpiio
