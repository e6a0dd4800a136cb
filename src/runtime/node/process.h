// Identifies a process even after its number has been given to another.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace forebay::runtime {

struct ProcessId {
  pid_t pid = 0;            // 0: none
  uint64_t started = 0;     // clock ticks after boot; 0: not known
  uint64_t name_space = 0;  // the name space of the number
  bool operator==(const ProcessId&) const = default;
};

ProcessId this_process();
ProcessId process_numbered(pid_t pid);

// As getpid(), also in the child of a fork, but mostly without a system call.
pid_t process_number();

// The number of the process's parent, which started or adopted it; 0: not known.
pid_t parent_of(pid_t pid);

// Whether the process exists and is not a zombie. A process counts as alive if nothing can be known
// of it: it is in another name space, or this process may open no further file.
bool alive(const ProcessId& process);

}  // namespace forebay::runtime
