// Starts the committer: the process that commits the bytes of killed processes of its node.
#pragma once

#include <string>
#include <vector>

namespace forebay::runtime {

// Starts `program` for the registry, in a session of its own, with no descriptor of this process,
// and not as its child: the MPI program neither waits for the committer nor hears of its end.
// `report`: the file in which the committer reports what it saved; "" for none. False: it could not
// be started.
// `environment`: NAME=VALUE.
bool start_committer(const std::string& program, const std::string& registry,
                     const std::string& report, std::vector<std::string> environment = {});
// What libfabric, its providers and the loader take from this process's environment.
std::vector<std::string> environment_of_fabric();

// The path of a file in the folder of the shared library (or program) that holds this code.
std::string beside_this_library(const std::string& name);
// The committer's path there; "" if it is not there.
std::string committer_program();

}  // namespace forebay::runtime
