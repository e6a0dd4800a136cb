// The clocks of a job's nodes, compared by messages.
#pragma once

#include <cstdint>

namespace forebay::mpiio {

// Nanoseconds to add to this node's CLOCK_MONOTONIC to have that of rank 0's node, as near as a
// message's way lets one tell. Called by all ranks of MPI_COMM_WORLD; on one node they only find
// out that they are.
int64_t clock_offset();

}  // namespace forebay::mpiio
