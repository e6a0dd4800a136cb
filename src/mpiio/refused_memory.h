// What entry points do if the system refuses memory: no exception may reach the program, and no
// rank may be left waiting.
//
// Where other ranks may wait for this one, work that needs memory is done, or given up, before the
// ranks agree (within_memory in extent/status.h). Where that is not possible, the rank ends with a
// line that says why; the bytes it had written are committed here, or by the committer.
#pragma once

#include <new>

#include "mpiio/file/errors.h"

namespace forebay::mpiio {

[[noreturn]] void end_for_want_of_memory();

// Returns act(), in a call in which other ranks may wait for this one: refused memory ends the
// rank.
template <typename Act>
auto awaited(Act act) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    end_for_want_of_memory();
  }
}

// Returns act(), in a call that concerns this rank alone: refused memory is an error like any
// other.
template <typename Act>
int alone(Handle& handle, Act act) {
  try {
    return act();
  } catch (const std::bad_alloc&) {
    return raise(handle, {Code::no_memory, ENOMEM, -1}, "acting on");
  }
}

}  // namespace forebay::mpiio
