// The objects that are loaded at one moment.
#pragma once

#include <cstddef>
#include <span>

#include "preload/object.h"

namespace forebay::preload {

// The loaded objects in the order of loading, and the dynamic linker's counters. They are in pages
// of their own, because the program's malloc may call dlsym.
struct Snapshot {
  Object* objects = nullptr;
  std::size_t count = 0, capacity = 0;
  unsigned long long loaded = 0, unloaded = 0;

  Snapshot() = default;
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  ~Snapshot() { clear(); }

  void take();
  void clear();
  std::span<const Object> span() const { return {objects, count}; }

 private:
  static int add(dl_phdr_info* info, std::size_t, void* snapshot);
  bool grow();
};

// How many objects were loaded so far. The number changes when dlopen has loaded another one.
unsigned long long loads_so_far();

}  // namespace forebay::preload
