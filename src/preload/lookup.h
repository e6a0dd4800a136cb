// What dlsym would find for the name of an entry point.
#pragma once

#include <cstddef>

#include "preload/rebind.h"

namespace forebay::preload {

// A call of dlsym with the name of `binding`.
struct Lookup {
  void* handle;
  const void* caller;  // an address within the calling object
  const Bindings::Binding& binding;
  std::size_t startup_count;  // objects loaded at the program's start
};

// Whether dlsym would return the MPI library's own routine. The caller must hold the dynamic
// linker's lock.
bool leads_to_library(const Lookup& lookup);

}  // namespace forebay::preload
