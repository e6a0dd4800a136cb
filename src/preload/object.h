// A loaded ELF object as the dynamic linker left it in memory: its symbols, and the slots through
// which it calls other objects. Source: System V ABI (gABI chapter 5, psABI of x86-64 and AArch64)
// and the GNU hash table.
//
// Nothing in src/preload may need the C++ runtime library, because every process would load it.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace forebay::preload {

// A view; valid while the object stays loaded.
struct Object {
  uintptr_t base = 0;  // difference between addresses in memory and in the file
  uintptr_t begin = 0, end = 0;
  uintptr_t read_only_begin = 0, read_only_end = 0;  // PT_GNU_RELRO: written only by relocation
  const char* path = "";                             // as dl_iterate_phdr gives it
  std::string_view soname;
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* sysv_hash = nullptr;
  std::span<const ElfW(Rela)> relocations;      // without the leading relative ones
  std::span<const ElfW(Rela)> plt_relocations;  // DT_JMPREL

  bool contains(uintptr_t address) const { return address >= begin && address < end; }
  std::string_view file_name() const;  // the last component of the path
};

// Reads the program headers and the dynamic section of one object.
Object describe_object(const dl_phdr_info& info);

// Address of the symbol `name`, if `object` defines and exports it; otherwise 0. Ignores versions.
uintptr_t defined_symbol(const Object& object, const char* name);

// A place in an object's data that holds the address of a symbol by name.
struct Slot {
  uintptr_t* place;
  const char* name;
  bool lazy;  // until the first call it points into its own object's procedure linkage table
};

// The slot of a relocation of `object`. Its place is nullptr if this kind of relocation holds no
// plain address of a function.
Slot slot_of(const Object& object, const ElfW(Rela) & relocation);

// Stores `value`, also in a page that relocation has made read-only (and makes it read-only again).
// The caller must hold the dynamic linker's lock, so that no other thread is relocating the page.
void write_slot(const Object& object, uintptr_t* place, uintptr_t value);

}  // namespace forebay::preload
