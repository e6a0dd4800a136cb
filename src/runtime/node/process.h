// Which process is meant, even after its number has been given to another.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace forebay::runtime {

struct ProcessId {
  pid_t pid = 0;            // 0: none
  uint64_t started = 0;     // clock ticks after boot
  uint64_t name_space = 0;  // in which the number means this process
  bool operator==(const ProcessId&) const = default;
};

ProcessId this_process();
ProcessId process_numbered(pid_t pid);

// As getpid(), in a fork's child, too, but most often without asking the system.
pid_t process_number();

// Who started it, or has adopted it since; 0: not known.
pid_t parent_of(pid_t pid);

// Runs, and has not ended but for being waited for. Of a process in another name space nothing can
// be known: it counts as alive.
bool alive(const ProcessId& process);

}  // namespace forebay::runtime
