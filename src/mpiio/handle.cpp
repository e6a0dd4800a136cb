#include "mpiio/handle.h"

#include <utility>

namespace forebay::mpiio {

std::atomic<bool> many_threads{true};

constinit HandleMap open_handles;

std::atomic<int> HandlesChange::under_way_{0};

// The mutex is refused to its owner, too: POSIX says so of a mutex of the default kind in pthreads'
// trylock.
bool try_lock(Handle& handle) {
  if (!handle.mutex.try_lock()) return false;
  if (!handle.entered.load()) return true;
  handle.mutex.unlock();
  return false;
}

bool HandleMap::insert(std::unique_ptr<Handle>& handle) {
  const uintptr_t key = (uintptr_t)handle->file;
  const std::lock_guard guard(writers_);
  if (key == empty || key == removed || count_ >= capacity / 2) return false;
  std::size_t slot = first_slot(key);
  while (slots_[slot].key.load(std::memory_order_relaxed) > removed) slot = (slot + 1) % capacity;
  slots_[slot].handle.store(handle.release(), std::memory_order_release);
  slots_[slot].key.store(key, std::memory_order_release);
  ++count_;
  return true;
}

std::unique_ptr<Handle> HandleMap::remove(MPI_File file) {
  const std::lock_guard guard(writers_);
  const Slot* found = locate((uintptr_t)file);
  if (found == nullptr) return nullptr;
  std::size_t slot = static_cast<std::size_t>(found - slots_);
  slots_[slot].key.store(removed, std::memory_order_release);
  std::unique_ptr<Handle> handle(slots_[slot].handle.exchange(nullptr));
  --count_;
  // Slots marked removed lengthen searches; those before an empty one are not needed.
  if (slots_[(slot + 1) % capacity].key.load(std::memory_order_relaxed) == empty)
    while (slots_[slot].key.load(std::memory_order_relaxed) == removed) {
      slots_[slot].key.store(empty, std::memory_order_release);
      slot = (slot + capacity - 1) % capacity;
    }
  return handle;
}

Handle* HandleMap::any() const {
  Handle* found = nullptr;
  for_each([&found](Handle& handle) { found = &handle; });
  return found;
}

}  // namespace forebay::mpiio
