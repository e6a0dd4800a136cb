// Lets the slots by which a program calls MPI-IO point to the interposer.
//
// A slot is changed if it holds the MPI library's own routine, or would receive it at its first
// call. A profiling tool in front of the library stays in front: the program's slots lead to the
// tool, and the tool's own calls lead to the interposer.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "preload/object.h"

namespace forebay::preload {

// The entry points that both the interposer and the program's MPI library define. One thread
// connects them, once; any thread may search them.
class Bindings {
 public:
  // `libmpi` must stay loaded. False: no memory, or no common entry points; the table is then
  // empty.
  bool connect(const Object& libmpi, const void* entry_points, std::size_t count);

  struct Binding {
    const char* name;      // "MPI_File_open"
    uintptr_t library;     // the MPI library's routine
    uintptr_t interposer;  // Forebay's routine
  };
  const Binding* find(const char* name) const;  // nullptr: no common entry point

 private:
  // Sorted by name; lives as long as the process. Stored last, so that other threads find either no
  // entries or all.
  std::atomic<Binding*> bindings_ = nullptr;
  std::size_t count_ = 0;
};

// The first of `objects`, in the order of loading, that defines `name`; nullptr: none does.
const Object* first_definer(std::span<const Object> objects, const char* name);

// Rebinds the MPI slots of `object`, one of `objects`, and its slots of dlopen and dlsym.
void rebind(const Object& object, std::span<const Object> objects, const Bindings& bindings);

}  // namespace forebay::preload
