// dlsym can be asked about ordinary handles only. The results of RTLD_NEXT and RTLD_DEFAULT depend
// on the caller, which would be this library; they are derived from the order of loading.
#include "preload/lookup.h"

#include <dlfcn.h>

#include "preload/hooks.h"
#include "preload/snapshot.h"

namespace forebay::preload {
namespace {

std::size_t position_of(std::span<const Object> objects, const void* address) {
  std::size_t position = 0;
  while (position < objects.size() &&
         !objects[position].contains(reinterpret_cast<uintptr_t>(address)))
    ++position;
  return position;
}

bool finds_library(std::span<const Object> objects, const Bindings::Binding& binding) {
  const Object* definer = first_definer(objects, binding.name);
  return definer != nullptr && defined_symbol(*definer, binding.name) == binding.library;
}

// RTLD_NEXT: the objects after the caller's, among those loaded together with it.
bool next_is_library(const Lookup& lookup, std::span<const Object> objects) {
  const std::size_t caller = position_of(objects, lookup.caller);
  if (caller == objects.size()) return false;
  const std::size_t scope_end =
      caller < lookup.startup_count ? lookup.startup_count : objects.size();
  return finds_library(objects.subspan(caller + 1, scope_end - caller - 1), lookup.binding);
}

// RTLD_DEFAULT: the global scope, then the objects loaded together with the caller.
bool default_is_library(const Lookup& lookup, std::span<const Object> objects) {
  if (void* found = real_dlsym()(RTLD_DEFAULT, lookup.binding.name))
    return reinterpret_cast<uintptr_t>(found) == lookup.binding.library;
  const std::size_t caller = position_of(objects, lookup.caller);
  if (caller == objects.size()) return false;
  void* object = real_dlopen()(objects[caller].path, RTLD_NOLOAD | RTLD_LAZY);
  if (object == nullptr) return false;
  void* found = real_dlsym()(object, lookup.binding.name);
  dlclose(object);
  return reinterpret_cast<uintptr_t>(found) == lookup.binding.library;
}

}  // namespace

bool leads_to_library(const Lookup& lookup) {
  if (lookup.handle != RTLD_NEXT && lookup.handle != RTLD_DEFAULT) {
    void* found = real_dlsym()(lookup.handle, lookup.binding.name);
    return reinterpret_cast<uintptr_t>(found) == lookup.binding.library;
  }
  Snapshot snapshot;
  snapshot.take();
  return lookup.handle == RTLD_NEXT ? next_is_library(lookup, snapshot.span())
                                    : default_is_library(lookup, snapshot.span());
}

}  // namespace forebay::preload
