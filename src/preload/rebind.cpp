#include "preload/rebind.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "mpiio/entry_table.h"
#include "preload/hooks.h"

namespace forebay::preload {
namespace {

int compare_bindings(const void* left, const void* right) {
  return std::strcmp(static_cast<const Bindings::Binding*>(left)->name,
                     static_cast<const Bindings::Binding*>(right)->name);
}

int compare_name(const void* name, const void* binding) {
  return std::strcmp(static_cast<const char*>(name),
                     static_cast<const Bindings::Binding*>(binding)->name);
}

// The present and the wanted target of a slot with this name.
Bindings::Binding wanted(const char* name, const Bindings& bindings) {
  if (std::strcmp(name, "dlopen") == 0)
    return {name, forebay_real_dlopen, reinterpret_cast<uintptr_t>(&forebay_dlopen_hook)};
  if (std::strcmp(name, "dlsym") == 0)
    return {name, forebay_real_dlsym, reinterpret_cast<uintptr_t>(&forebay_dlsym_hook)};
  const Bindings::Binding* binding = bindings.find(name);
  return binding != nullptr ? *binding : Bindings::Binding{name, 0, 0};
}

void rebind_slot(const Object& object, const Slot& slot, std::span<const Object> objects,
                 const Bindings& bindings) {
  const Bindings::Binding binding = wanted(slot.name, bindings);
  if (binding.interposer == 0) return;
  const uintptr_t value = std::atomic_ref(*slot.place).load(std::memory_order_acquire);
  bool leads_to_library = value == binding.library;
  if (slot.lazy && object.contains(value)) {
    const Object* definer = first_definer(objects, slot.name);
    leads_to_library = definer != nullptr && defined_symbol(*definer, slot.name) == binding.library;
  }
  if (leads_to_library) write_slot(object, slot.place, binding.interposer);
}

}  // namespace

bool Bindings::connect(const Object& libmpi, const void* entry_points, std::size_t count) {
  const auto* entries = static_cast<const forebay_entry_point*>(entry_points);
  constexpr const char* prefixes[] = {"MPI_", "PMPI_"};
  constexpr std::size_t longest_name = 64;
  auto* bindings = static_cast<Binding*>(std::calloc(2 * count, sizeof(Binding)));
  auto* names = static_cast<char*>(std::calloc(2 * count, longest_name));
  if (bindings == nullptr || names == nullptr) return false;
  for (std::size_t i = 0; i < count; ++i) {
    for (const char* prefix : prefixes) {
      if (std::strlen(prefix) + std::strlen(entries[i].name) >= longest_name) continue;
      char* name = names + count_ * longest_name;
      std::strcpy(std::strcpy(name, prefix) + std::strlen(prefix), entries[i].name);
      const uintptr_t library = defined_symbol(libmpi, name);
      if (library == 0) continue;
      bindings[count_++] = {name, library, reinterpret_cast<uintptr_t>(entries[i].function)};
    }
  }
  std::qsort(bindings, count_, sizeof(Binding), compare_bindings);
  bindings_.store(bindings, std::memory_order_release);
  return count_ != 0;
}

const Bindings::Binding* Bindings::find(const char* name) const {
  if (name[0] != 'M' && name[0] != 'P') return nullptr;
  const Binding* bindings = bindings_.load(std::memory_order_acquire);
  if (bindings == nullptr) return nullptr;
  return static_cast<const Binding*>(
      std::bsearch(name, bindings, count_, sizeof(Binding), compare_name));
}

const Object* first_definer(std::span<const Object> objects, const char* name) {
  for (const Object& object : objects) {
    if (defined_symbol(object, name) != 0) return &object;
  }
  return nullptr;
}

void rebind(const Object& object, std::span<const Object> objects, const Bindings& bindings) {
  for (const auto relocations : {object.relocations, object.plt_relocations}) {
    for (const auto& relocation : relocations) {
      const Slot slot = slot_of(object, relocation);
      if (slot.place != nullptr) rebind_slot(object, slot, objects, bindings);
    }
  }
}

}  // namespace forebay::preload
