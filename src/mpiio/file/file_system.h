// What the kind of a file system tells of the nodes that see it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace forebay::mpiio {

// `device`: of the path, as this node calls it.
bool is_on_lustre(const std::string& path, uint64_t device);

// A number for the place where a file is stored: equal on all nodes for file systems that nodes
// share, and for others on this machine only. Empty: a file system that is not known to be shared,
// and the machine has no name.
std::optional<uint64_t> place_of(const std::string& path, uint64_t device);

}  // namespace forebay::mpiio
