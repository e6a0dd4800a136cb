// Compares the clocks of a job's nodes by messages.
#pragma once

#include <cstdint>

namespace forebay::mpiio {

// Nanoseconds to add to this node's CLOCK_MONOTONIC to get that of rank 0's node, as exactly as the
// time of a message allows. Called by all ranks of MPI_COMM_WORLD. On one node, no message is
// needed to compare clocks.
int64_t clock_offset();

}  // namespace forebay::mpiio
