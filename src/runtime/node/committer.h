// Starting the process that looks after the others of its node when they are killed.
#pragma once

#include <string>

namespace forebay::runtime {

// Starts `program` for the registry, in a session of its own, with no descriptor of this process
// and nobody's child: the program that we are loaded into neither waits for it nor hears of its
// end. `report`: the file it tells what it saved; "" for none. False: it could not be started.
bool start_committer(const std::string& program, const std::string& registry,
                     const std::string& report);

// The program that stands beside the shared library (or program) that this code is part of; "" if
// there is none.
std::string committer_program();

}  // namespace forebay::runtime
