// Memory refused to Forebay within an entry point: no exception may reach the program, and no rank
// may be left waiting.
//
// Where other ranks may be waiting for this one, all that needs memory is done, or given up, before
// they agree (within_memory in extent/status.h). What is left ends the rank, with a line that says
// why; what it had written is committed here, or by the committer.
#pragma once

#include <new>

#include "mpiio/file/errors.h"

namespace forebay::mpiio {

[[noreturn]] void end_for_want_of_memory();

// The result of `act`, in a call in which other ranks may be waiting for this one.
template <typename Act>
auto awaited(Act act) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    end_for_want_of_memory();
  }
}

// In a call that concerns this rank alone, it is an error like any other.
template <typename Act>
int alone(Handle& handle, Act act) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    return raise(handle, {Code::no_memory, ENOMEM, -1}, "acting on");
  }
}

}  // namespace forebay::mpiio
