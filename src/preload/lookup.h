// What dlsym would find, for names that are entry points.
#pragma once

#include <cstddef>

#include "preload/rebind.h"

namespace forebay::preload {

// A call of dlsym about the name of `binding`.
struct Lookup {
  void* handle;
  const void* caller;  // an address within the object that called
  const Bindings::Binding& binding;
  std::size_t startup_count;  // objects that were loaded at the program's start
};

// Whether dlsym would return the MPI library's own routine. The caller holds the dynamic linker's
// lock.
bool leads_to_library(const Lookup& lookup);

}  // namespace forebay::preload
