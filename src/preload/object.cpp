#include "preload/object.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

namespace forebay::preload {
namespace {

#if defined(__x86_64__)
constexpr uint32_t jump_slot = R_X86_64_JUMP_SLOT;
constexpr uint32_t global_data = R_X86_64_GLOB_DAT;
constexpr uint32_t absolute_address = R_X86_64_64;
#elif defined(__aarch64__)
constexpr uint32_t jump_slot = R_AARCH64_JUMP_SLOT;
constexpr uint32_t global_data = R_AARCH64_GLOB_DAT;
constexpr uint32_t absolute_address = R_AARCH64_ABS64;
#else
#error "forebay_preload knows the relocations of x86-64 and AArch64 only"
#endif

// The entries of a dynamic section that are needed.
struct Dynamic {
  uintptr_t rela = 0, plt = 0;
  std::size_t rela_bytes = 0, relative_count = 0, plt_bytes = 0;
  std::size_t soname = 0;
  bool has_soname = false;
};

void read_dynamic(Object& object, const ElfW(Dyn) * entry) {
  Dynamic found;
  // glibc has already added the load address, except if the section is read-only (in the vDSO).
  const auto address = [&](const ElfW(Dyn) & dynamic) {
    const uintptr_t value = dynamic.d_un.d_ptr;
    return value < object.base ? object.base + value : value;
  };
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB:
        object.symbols = reinterpret_cast<const ElfW(Sym)*>(address(*entry));
        break;
      case DT_STRTAB:
        object.strings = reinterpret_cast<const char*>(address(*entry));
        break;
      case DT_GNU_HASH:
        object.gnu_hash = reinterpret_cast<const uint32_t*>(address(*entry));
        break;
      case DT_HASH:
        object.sysv_hash = reinterpret_cast<const uint32_t*>(address(*entry));
        break;
      case DT_RELA:
        found.rela = address(*entry);
        break;
      case DT_RELASZ:
        found.rela_bytes = entry->d_un.d_val;
        break;
      case DT_RELACOUNT:
        found.relative_count = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        found.plt = address(*entry);
        break;
      case DT_PLTRELSZ:
        found.plt_bytes = entry->d_un.d_val;
        break;
      case DT_SONAME:
        found.soname = entry->d_un.d_val;
        found.has_soname = true;
        break;
      default:
        break;
    }
  }
  using Rela = ElfW(Rela);
  if (found.rela != 0) {
    object.relocations =
        std::span(reinterpret_cast<const Rela*>(found.rela), found.rela_bytes / sizeof(Rela))
            .subspan(found.relative_count);
  }
  if (found.plt != 0) {
    object.plt_relocations =
        std::span(reinterpret_cast<const Rela*>(found.plt), found.plt_bytes / sizeof(Rela));
  }
  if (found.has_soname && object.strings != nullptr) object.soname = object.strings + found.soname;
}

uint32_t gnu_hash_of(const char* name) {
  uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

uint32_t sysv_hash_of(const char* name) {
  uint32_t hash = 0;
  for (; *name != '\0'; ++name) {
    hash = (hash << 4) + static_cast<unsigned char>(*name);
    const uint32_t high = hash & 0xf0000000u;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

uintptr_t address_if(const Object& object, uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = object.symbols[index];
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return 0;
  if (std::strcmp(object.strings + symbol.st_name, name) != 0) return 0;
  return object.base + symbol.st_value;
}

// The table has a header (buckets, first hashed symbol, words and shift of the Bloom filter), the
// filter, the buckets, and one hash per symbol; the lowest bit of a hash ends a chain.
uintptr_t find_by_gnu_hash(const Object& object, const char* name) {
  const uint32_t bucket_count = object.gnu_hash[0];
  const uint32_t first = object.gnu_hash[1];
  const uint32_t filter_words = object.gnu_hash[2];
  if (bucket_count == 0) return 0;
  const auto* filter = reinterpret_cast<const ElfW(Addr)*>(object.gnu_hash + 4);
  const uint32_t hash = gnu_hash_of(name);
  const ElfW(Addr) word = filter[(hash / 64) % filter_words];
  const uint32_t second_bit = (hash >> object.gnu_hash[3]) % 64;
  if (((word >> (hash % 64)) & (word >> second_bit) & 1) == 0) return 0;

  const auto* buckets = reinterpret_cast<const uint32_t*>(filter + filter_words);
  const uint32_t* hashes = buckets + bucket_count;
  uint32_t index = buckets[hash % bucket_count];
  if (index < first) return 0;
  for (;; ++index) {
    const uint32_t candidate = hashes[index - first];
    if ((candidate | 1) == (hash | 1)) {
      if (const uintptr_t address = address_if(object, index, name)) return address;
    }
    if (candidate & 1) return 0;
  }
}

uintptr_t find_by_sysv_hash(const Object& object, const char* name) {
  const uint32_t bucket_count = object.sysv_hash[0];
  const uint32_t* buckets = object.sysv_hash + 2;
  const uint32_t* chain = buckets + bucket_count;
  if (bucket_count == 0) return 0;
  for (uint32_t index = buckets[sysv_hash_of(name) % bucket_count]; index != STN_UNDEF;
       index = chain[index]) {
    if (const uintptr_t address = address_if(object, index, name)) return address;
  }
  return 0;
}

}  // namespace

std::string_view Object::file_name() const {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

Object describe_object(const dl_phdr_info& info) {
  Object object;
  object.base = info.dlpi_addr;
  object.path = info.dlpi_name != nullptr ? info.dlpi_name : "";
  object.begin = UINTPTR_MAX;
  const ElfW(Dyn)* dynamic = nullptr;
  for (const ElfW(Phdr) & header : std::span(info.dlpi_phdr, info.dlpi_phnum)) {
    const uintptr_t begin = object.base + header.p_vaddr;
    const uintptr_t end = begin + header.p_memsz;
    if (header.p_type == PT_LOAD) {
      if (begin < object.begin) object.begin = begin;
      if (end > object.end) object.end = end;
    } else if (header.p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
    } else if (header.p_type == PT_GNU_RELRO) {
      // The linker protects whole pages. A page that contains the end stays writable.
      const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
      object.read_only_begin = begin & ~(page - 1);
      object.read_only_end = end & ~(page - 1);
    }
  }
  if (dynamic != nullptr) read_dynamic(object, dynamic);
  return object;
}

uintptr_t defined_symbol(const Object& object, const char* name) {
  if (object.symbols == nullptr || object.strings == nullptr) return 0;
  if (object.gnu_hash != nullptr) return find_by_gnu_hash(object, name);
  if (object.sysv_hash != nullptr) return find_by_sysv_hash(object, name);
  return 0;
}

Slot slot_of(const Object& object, const ElfW(Rela) & relocation) {
  const uint32_t type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
  const uint32_t index = static_cast<uint32_t>(ELF64_R_SYM(relocation.r_info));
  const bool known = type == jump_slot || type == global_data ||
                     (type == absolute_address && relocation.r_addend == 0);
  if (!known || index == STN_UNDEF || object.symbols == nullptr) return {nullptr, "", false};
  const ElfW(Sym)& symbol = object.symbols[index];
  return {reinterpret_cast<uintptr_t*>(object.base + relocation.r_offset),
          object.strings + symbol.st_name, type == jump_slot && symbol.st_shndx == SHN_UNDEF};
}

void write_slot(const Object& object, uintptr_t* place, uintptr_t value) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(place);
  const bool read_only = address >= object.read_only_begin && address < object.read_only_end;
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page_begin = reinterpret_cast<void*>(address & ~(page - 1));
  if (read_only && mprotect(page_begin, page, PROT_READ | PROT_WRITE) != 0) return;
  std::atomic_ref(*place).store(value, std::memory_order_release);
  if (read_only) mprotect(page_begin, page, PROT_READ);
}

}  // namespace forebay::preload
