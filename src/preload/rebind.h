// Points the slots by which a program calls MPI-IO at the interposer.
//
// A slot is changed when it holds, or at its first call would be given, the MPI library's own
// routine. Whatever stands in front of the library (a profiling tool) stays in front: the program's
// slots lead to it, and its own calls down to the library lead to the interposer.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "preload/object.h"

namespace forebay::preload {

// The entry points that both the interposer and the program's MPI library define. Connected by one
// thread, once; searched by any.
class Bindings {
 public:
  // `libmpi` must stay loaded. False: no memory, or nothing in common; the table is then empty.
  bool connect(const Object& libmpi, const void* entry_points, std::size_t count);

  struct Binding {
    const char* name;      // "MPI_File_open"
    uintptr_t library;     // the MPI library's routine
    uintptr_t interposer;  // ours
  };
  const Binding* find(const char* name) const;  // nullptr: not ours to offer

 private:
  // Sorted by name; lives as long as the process. Set last, so that other threads find all or none.
  std::atomic<Binding*> bindings_ = nullptr;
  std::size_t count_ = 0;
};

// The object that a lookup of `name` among `objects`, in the order of loading, comes to first;
// nullptr if none defines it.
const Object* first_definer(std::span<const Object> objects, const char* name);

// Rebinds the MPI slots of `object`, one of `objects`, and its slots of dlopen and dlsym.
void rebind(const Object& object, std::span<const Object> objects, const Bindings& bindings);

}  // namespace forebay::preload
