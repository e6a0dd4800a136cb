// Finds out which processes of a node one launcher has started, without communication.
#pragma once

#include <string>

namespace forebay::mpiio {

// A name that is the same for the ranks that one launch (mpiexec, srun, an MPI_Comm_spawn) started
// on this node, and for no other process; "" if no launcher says that this process is a rank.
std::string launch_name();

// The same on all nodes of the launch: the name that the launcher itself gives it. "": this
// launcher gives none.
std::string launch_name_everywhere();

}  // namespace forebay::mpiio
