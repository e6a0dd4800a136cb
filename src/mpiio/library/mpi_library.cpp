// Finds the program's libmpi among the loaded objects and fills the table of its functions.
// A library opened RTLD_LOCAL (mpi4py does) is invisible to dlsym(RTLD_DEFAULT or RTLD_NEXT), so
// it is found by dl_iterate_phdr and reopened by its path without loading anything.
#include "mpiio/library/mpi_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string>
#include <vector>

namespace forebay::mpiio {

namespace internal {
MpiLibrary library;
}

namespace {

#if defined(FOREBAY_ABI_MPIABI)
constexpr const char* this_abi = "mpiabi";
constexpr const char* name_prefix = "libmpi_abi";
#elif defined(FOREBAY_ABI_OPENMPI)
constexpr const char* this_abi = "openmpi";
constexpr const char* name_prefix = "libmpi";
#else
constexpr const char* this_abi = "mpich";
constexpr const char* name_prefix = "libmpi";
#endif

int collect_candidate(dl_phdr_info* object, std::size_t, void* names) {
  const char* slash = std::strrchr(object->dlpi_name, '/');
  const char* base = slash ? slash + 1 : object->dlpi_name;
  if (std::strncmp(base, name_prefix, std::strlen(name_prefix)) == 0)
    static_cast<std::vector<std::string>*>(names)->emplace_back(object->dlpi_name);
  return 0;
}

// The dl handle of the loaded object, or null if it is not an MPI library of this build's ABI.
void* reopen(const char* path) {
  void* object = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  if (object == nullptr) return nullptr;
  [[maybe_unused]] const bool is_open_mpi = dlsym(object, "ompi_mpi_comm_world") != nullptr;
#if defined(FOREBAY_ABI_OPENMPI)
  const bool fits = is_open_mpi;
#elif defined(FOREBAY_ABI_MPIABI)
  const bool fits = true;
#else
  const bool fits = !is_open_mpi && std::strstr(path, "libmpi_abi") == nullptr;
#endif
  if (fits && dlsym(object, "PMPI_File_open") != nullptr) return object;
  dlclose(object);
  return nullptr;
}

void* find_library(const char* path) {
  if (path != nullptr) return reopen(path);
  std::vector<std::string> names;
  dl_iterate_phdr(collect_candidate, &names);
  for (const std::string& name : names)
    if (void* object = reopen(name.c_str())) return object;
  return nullptr;
}

#if defined(FOREBAY_ABI_OPENMPI)
// A predefined handle is the address of a variable. A program may hold a copy relocation of it,
// which then is the variable for the library, too: the global scope is asked first.
void* find_handle(void* object, const char* symbol) {
  void* address = dlsym(RTLD_DEFAULT, symbol);
  return address != nullptr ? address : dlsym(object, symbol);
}
#endif

void fill(MpiLibrary& table, void* object) {
#define FOREBAY_ROUTINE(name) \
  table.name = reinterpret_cast<decltype(table.name)>(dlsym(object, "PMPI_" #name));
  FOREBAY_ROUTINES
  FOREBAY_ROUTINES_IF_TRACED
  FOREBAY_CALLED_ROUTINES(FOREBAY_ROUTINE)
  FOREBAY_CALLED_ROUTINES_C(FOREBAY_ROUTINE)
#undef FOREBAY_ROUTINE
#if defined(FOREBAY_ABI_OPENMPI)
#define FOREBAY_HANDLE(type, name, constant, symbol) \
  table.name = static_cast<type>(find_handle(object, #symbol));
#else
#define FOREBAY_HANDLE(type, name, constant, symbol) table.name = constant;
#endif
  FOREBAY_MPI_HANDLES(FOREBAY_HANDLE)
#undef FOREBAY_HANDLE
}

// Programs linked with the interposer have their libmpi mapped before any constructor runs.
[[gnu::constructor]] void attach_when_linked() { attach_library(nullptr); }

}  // namespace

bool attach_library(const char* path) {
  if (internal::library.File_open != nullptr) return true;
  void* object = find_library(path);
  if (object == nullptr) return false;
  fill(internal::library, object);
  return true;
}

const char* abi_name() { return this_abi; }

}  // namespace forebay::mpiio
