// A map from the user's MPI_File to what is known of the open file. Lookups take no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "mpiio/library/mpi_library.h"

namespace forebay::mpiio {

template <typename Known>
class FileMap {
 public:
  // Takes `known` and keeps it under `file`. False: the map is full, and the caller keeps `known`.
  bool insert(MPI_File file, std::unique_ptr<Known>& known);
  // nullptr: the file is not in the map.
  Known* find(MPI_File file) const {
    const Slot* slot = locate((uintptr_t)file);
    return slot == nullptr ? nullptr : slot->known.load(std::memory_order_acquire);
  }
  // Takes the file out of the map; nullptr: it was not there.
  std::unique_ptr<Known> remove(MPI_File file);
  // Any entry, or nullptr if the map is empty.
  Known* any() const {
    Known* found = nullptr;
    for_each([&found](Known& known) { found = &known; });
    return found;
  }
  // Calls act(Known&) for every entry.
  template <typename Act>
  void for_each(Act act) const {
    for (const Slot& slot : slots_) {
      const uintptr_t key = slot.key.load(std::memory_order_acquire);
      if (key != empty && key != removed)
        if (Known* known = slot.known.load(std::memory_order_acquire)) act(*known);
    }
  }

 private:
  static constexpr std::size_t capacity = 4096;  // more than a process has descriptors by default
  static constexpr uintptr_t empty = 0;
  static constexpr uintptr_t removed = 1;
  struct Slot {
    std::atomic<uintptr_t> key{empty};
    std::atomic<Known*> known{nullptr};
  };
  static std::size_t first_slot(uintptr_t key) {
    return (key * 0x9e3779b97f4a7c15u >> 40) % capacity;
  }
  const Slot* locate(uintptr_t key) const;

  Slot slots_[capacity];
  std::mutex writers_;
  std::size_t count_ = 0;
};

template <typename Known>
const typename FileMap<Known>::Slot* FileMap<Known>::locate(uintptr_t key) const {
  std::size_t slot = first_slot(key);
  for (std::size_t i = 0; i < capacity; ++i, slot = (slot + 1) % capacity) {
    const uintptr_t found = slots_[slot].key.load(std::memory_order_acquire);
    if (found == key) return &slots_[slot];
    if (found == empty) return nullptr;
  }
  return nullptr;
}

template <typename Known>
bool FileMap<Known>::insert(MPI_File file, std::unique_ptr<Known>& known) {
  const uintptr_t key = (uintptr_t)file;
  const std::lock_guard guard(writers_);
  if (key == empty || key == removed || count_ >= capacity / 2) return false;
  std::size_t slot = first_slot(key);
  while (slots_[slot].key.load(std::memory_order_relaxed) > removed) slot = (slot + 1) % capacity;
  slots_[slot].known.store(known.release(), std::memory_order_release);
  slots_[slot].key.store(key, std::memory_order_release);
  ++count_;
  return true;
}

template <typename Known>
std::unique_ptr<Known> FileMap<Known>::remove(MPI_File file) {
  const std::lock_guard guard(writers_);
  const uintptr_t key = (uintptr_t)file;
  // Some keys, such as that of MPI_FILE_NULL, may look like an empty slot.
  const Slot* found = key == empty || key == removed ? nullptr : locate(key);
  if (found == nullptr) return nullptr;
  std::size_t slot = static_cast<std::size_t>(found - slots_);
  slots_[slot].key.store(removed, std::memory_order_release);
  std::unique_ptr<Known> known(slots_[slot].known.exchange(nullptr));
  --count_;
  // Slots marked as removed make searches longer. Those just before an empty slot become empty,
  // too.
  if (slots_[(slot + 1) % capacity].key.load(std::memory_order_relaxed) == empty)
    while (slots_[slot].key.load(std::memory_order_relaxed) == removed) {
      slots_[slot].key.store(empty, std::memory_order_release);
      slot = (slot + capacity - 1) % capacity;
    }
  return known;
}

}  // namespace forebay::mpiio
