// Remembers the lines that this process, and others on its node, have told the user, so that each
// is told once.
#pragma once

#include <string>

namespace forebay::mpiio {

// Whether this process has not told the line before.
bool is_new_here(const std::string& line);

// Whether no process of the job on this node has told the line before. That is noted in the folder
// of `forebay run` or, without one, in the cache's registry as long as it exists.
bool is_new_on_node(const std::string& line);

}  // namespace forebay::mpiio
