// Where a file is stored, in a way that tells nodes whether they see the same file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace forebay::mpiio {

// A number for the place where a file is stored: equal on all nodes for file systems that nodes
// share, and for others on this machine only. Empty: a file system that is not known to be shared,
// and the machine has no name. `device`: of the path, as this node calls it.
std::optional<uint64_t> place_of(const std::string& path, uint64_t device);

}  // namespace forebay::mpiio
