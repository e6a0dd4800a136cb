// Lines that the user need read but once: what this process, and the others of its node, have said.
#pragma once

#include <string>

namespace forebay::mpiio {

// Whether this process has not said the line before.
bool is_new_here(const std::string& line);

// Nor any other of the job on this node: in the folder where `forebay run` waits, or else, for as
// long as processes are at it, in the cache's registry.
bool is_new_on_node(const std::string& line);

}  // namespace forebay::mpiio
