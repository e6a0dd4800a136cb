#include "preload/snapshot.h"

#include <sys/mman.h>

namespace forebay::preload {

bool Snapshot::grow() {
  const std::size_t wider = capacity == 0 ? 64 : 2 * capacity;
  void* grown = objects == nullptr ? mmap(nullptr, wider * sizeof(Object), PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                   : mremap(objects, capacity * sizeof(Object),
                                            wider * sizeof(Object), MREMAP_MAYMOVE);
  if (grown == MAP_FAILED) return false;
  objects = static_cast<Object*>(grown);
  capacity = wider;
  return true;
}

int Snapshot::add(dl_phdr_info* info, std::size_t, void* argument) {
  auto* snapshot = static_cast<Snapshot*>(argument);
  if (snapshot->count == snapshot->capacity && !snapshot->grow()) return 1;
  snapshot->objects[snapshot->count++] = describe_object(*info);
  snapshot->loaded = info->dlpi_adds;
  snapshot->unloaded = info->dlpi_subs;
  return 0;
}

void Snapshot::take() {
  clear();
  dl_iterate_phdr(add, this);
}

void Snapshot::clear() {
  if (objects != nullptr) munmap(objects, capacity * sizeof(Object));
  objects = nullptr;
  count = capacity = 0;
}

unsigned long long loads_so_far() {
  unsigned long long loads = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* counter) {
        *static_cast<unsigned long long*>(counter) = info->dlpi_adds;
        return 1;
      },
      &loads);
  return loads;
}

}  // namespace forebay::preload
