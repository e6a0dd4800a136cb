#include "mpiio/file/handle.h"

namespace forebay::mpiio {

std::atomic<bool> many_threads{true};

constinit FileMap<Handle> open_handles;

std::atomic<int> HandlesChange::under_way_{0};

// The mutex is refused to its owner, too: POSIX says so of a mutex of the default kind in pthreads'
// trylock.
bool try_lock(Handle& handle) {
  if (!handle.mutex.try_lock()) return false;
  if (!handle.entered.load()) return true;
  handle.mutex.unlock();
  return false;
}

}  // namespace forebay::mpiio
