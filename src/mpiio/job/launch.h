// Which processes of a node a launcher has started together, told without a word between them.
#pragma once

#include <string>

namespace forebay::mpiio {

// The same for the ranks that one launch (mpiexec, srun, an MPI_Comm_spawn) started on this node,
// and for no other process; "" where no launcher says that this process is a rank.
std::string launch_name();

}  // namespace forebay::mpiio
