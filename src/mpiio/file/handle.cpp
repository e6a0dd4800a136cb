#include "mpiio/file/handle.h"

namespace forebay::mpiio {

std::atomic<bool> many_threads{true};

constinit FileMap<Handle> open_handles;

std::atomic<int> HandlesChange::under_way_{0};

void learn_thread_level() {
  int initialized = 0;
  int finalized = 0;
  int level = MPI_THREAD_MULTIPLE;
  mpi().Initialized(&initialized);
  mpi().Finalized(&finalized);
  if (initialized && !finalized && mpi().Query_thread(&level) == MPI_SUCCESS)
    many_threads.store(level == MPI_THREAD_MULTIPLE, std::memory_order_relaxed);
}

// try_lock() of the mutex fails for its owner, too: POSIX says so of pthread_mutex_trylock() and
// mutexes of the default kind.
bool try_lock(Handle& handle) {
  if (!handle.mutex.try_lock()) return false;
  if (!handle.entered.load()) return true;
  handle.mutex.unlock();
  return false;
}

}  // namespace forebay::mpiio
