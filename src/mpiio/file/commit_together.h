// Commits what all ranks of a handle wrote, once all have arrived: the first to arrive would commit
// pages that the others are still filling. For sync and close.
#pragma once

#include "mpiio/file/handle.h"

namespace forebay::mpiio {

// A close answers for the bytes that were written through its handle. A sync commits all of the
// file.
enum class CommitFor : uint8_t { sync, close };

// Called by all ranks, without the handle's lock. Afterwards storage has every byte that they wrote
// before; otherwise all ranks get a failure. With commit_at_close=last a close leaves the bytes to
// others that have the file open.
Status commit_together(Handle& handle, CommitFor purpose);
// Called by one rank alone: commits what its cache holds of the file.
Status commit(Handle& handle);
// As commit(); then the cache also forgets the clean bytes of the file.
Status make_coherent(Handle& handle);

}  // namespace forebay::mpiio
