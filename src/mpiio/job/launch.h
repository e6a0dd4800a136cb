// Finds out which processes of a node one launcher has started, without communication.
#pragma once

#include <string>

namespace forebay::mpiio {

// A name that is the same for the ranks that one launch (mpiexec, srun, an MPI_Comm_spawn) started
// on this node, and for no other process; "" if no launcher says that this process is a rank.
std::string launch_name();

}  // namespace forebay::mpiio
