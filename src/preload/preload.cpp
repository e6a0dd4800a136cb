// libforebay_preload.so, for LD_PRELOAD: loads the interposer of the right ABI into processes that
// load an MPI library, at the start or later, and does nothing in other processes. It defines no
// MPI symbol, so the question whether a symbol exists has the same answer as without it. The
// exceptions are the functions of forebay.h, which dlsym finds once the interposer is loaded.
//
// At the start, and when the program calls dlopen or dlsym after objects were loaded, it searches
// the new objects for the MPI library and for slots to rebind. docs/decisions.md gives the reasons.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "mpiio/entry_table.h"
#include "preload/hooks.h"
#include "preload/libmpi.h"
#include "preload/loader_lock.h"
#include "preload/lookup.h"
#include "preload/rebind.h"
#include "preload/snapshot.h"

namespace forebay::preload {
namespace {

// Members that are not atomic are used under the dynamic linker's lock only.
struct State {
  void* self = nullptr;  // this library's handle; nullptr: Forebay does nothing here
  const char* self_path = "";
  std::size_t startup_count = 0;  // objects loaded at the program's start; they are never unloaded
  std::size_t scanned_count = 0;  // objects in the last snapshot
  unsigned long long seen_unloads = 0;
  bool mpi_found = false;  // an interposer was chosen, even if it could not be loaded
  const char* libmpi_path = nullptr;
  decltype(forebay_objects_loaded)* tell_of_objects = nullptr;  // of the interposer
  Bindings bindings;
  std::atomic<unsigned long long> seen_loads = 0;
  std::atomic<void*> interposer = nullptr;  // handle of the attached interposer
} state;

bool is_interposer(const Object& object) {
  return defined_symbol(object, "forebay_entry_points") != 0;
}

// Leaves a message for `forebay run`, if there is one. Only the first process with a message of
// this name leaves it.
void note(const char* name, const char* text) {
  const char* directory = std::getenv("FOREBAY_RUN_DIR");
  if (directory == nullptr || text == nullptr) return;
  char path[PATH_MAX];
  if (std::snprintf(path, sizeof path, "%s/%s", directory, name) >= PATH_MAX) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, text, std::strlen(text));
  close(file);
}

void note_failure(const char* reason) { note("unloadable", reason); }

// Notes that a process started by this one may lack Forebay: the command line changes the variable
// with the preload, as with env (NAME=VALUE, -u NAME) or mpiexec (-genv NAME VALUE).
void note_other_preload() {
  using std::string_view_literals::operator""sv;
  if (std::getenv("FOREBAY_RUN_DIR") == nullptr) return;
  static char words[1 << 14];
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t length = read(file, words, sizeof words - 1);
  close(file);
  const std::string_view line(words, length < 0 ? 0 : static_cast<std::size_t>(length));
  for (const std::string_view change :
       {"LD_PRELOAD="sv, "env\0LD_PRELOAD\0"sv, "-u\0LD_PRELOAD"sv}) {
    if (line.find(change) != line.npos) note("ld_preload", words);  // the first word
  }
}

// The handle of the interposer for `abi`: the one linked with the program, otherwise the file
// beside this library.
void* open_interposer(std::span<const Object> objects, std::string_view abi) {
  for (const Object& object : objects) {
    if (is_interposer(object)) return real_dlopen()(object.path, RTLD_NOLOAD | RTLD_LAZY);
  }
  char path[PATH_MAX];
  const char* slash = std::strrchr(state.self_path, '/');
  const int directory_length = slash != nullptr ? static_cast<int>(slash - state.self_path) + 1 : 0;
  const int length = std::snprintf(path, sizeof path, "%.*slibforebay_%.*s.so", directory_length,
                                   state.self_path, static_cast<int>(abi.size()), abi.data());
  if (length >= PATH_MAX) return nullptr;
  void* handle = real_dlopen()(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) note_failure(dlerror());
  return handle;
}

template <typename Function>
Function* function_of(void* handle, const char* name) {
  return reinterpret_cast<Function*>(real_dlsym()(handle, name));
}

// Attaches the interposer for `libmpi`, and finds out what can be rebound. From here on the process
// keeps this ABI, even if attaching failed.
void connect(const Object& libmpi, std::string_view abi, std::span<const Object> objects) {
  state.mpi_found = true;
  // Prevents that the library is unloaded, since its addresses are in use now.
  void* library = real_dlopen()(libmpi.path, RTLD_NOLOAD | RTLD_LAZY);
  void* interposer = library != nullptr ? open_interposer(objects, abi) : nullptr;
  if (interposer == nullptr) return;
  auto* entry_points =
      function_of<decltype(forebay_entry_points)>(interposer, "forebay_entry_points");
  auto* attach = function_of<decltype(forebay_attach)>(interposer, "forebay_attach");
  if (entry_points == nullptr || attach == nullptr || attach(libmpi.path) != 0) {
    note_failure("the interposer does not fit the MPI library");
    return;
  }
  std::size_t count = 0;
  const forebay_entry_point* entries = entry_points(&count);
  if (!state.bindings.connect(libmpi, entries, count)) return;
  state.interposer.store(interposer, std::memory_order_release);
  state.libmpi_path = strdup(libmpi.path);
  state.tell_of_objects =
      function_of<decltype(forebay_objects_loaded)>(interposer, "forebay_objects_loaded");
  note("mpi", libmpi.path);
}

bool look_for_mpi(std::span<const Object> objects) {
  const char* forced = std::getenv("FOREBAY_MPI");
  for (const Object& object : objects) {
    const std::string_view abi = mpi_abi(object, forced != nullptr ? forced : "");
    if (abi.empty()) continue;
    connect(object, abi, objects);
    return true;
  }
  return false;
}

void rebind_from(std::size_t first, std::span<const Object> objects) {
  const Bindings none;
  for (const Object& object : objects.subspan(first)) {
    const bool ours = object.contains(reinterpret_cast<uintptr_t>(&state)) || is_interposer(object);
    if (ours) continue;
    const bool mpi_itself =
        (state.libmpi_path != nullptr && std::strcmp(object.path, state.libmpi_path) == 0) ||
        is_mpi_plugin(object);
    rebind(object, objects, mpi_itself ? none : state.bindings);
  }
}

// Handles the objects loaded since the last call. Runs under the dynamic linker's lock.
void scan(void*) {
  Snapshot snapshot;
  snapshot.take();
  std::size_t first = state.scanned_count;
  if (snapshot.unloaded != state.seen_unloads || first > snapshot.count) first = 0;
  if (!state.mpi_found && look_for_mpi(snapshot.span())) {
    snapshot.take();
    first = 0;
  }
  rebind_from(first, snapshot.span());
  state.scanned_count = snapshot.count;
  state.seen_unloads = snapshot.unloaded;
  state.seen_loads.store(snapshot.loaded, std::memory_order_release);
  if (state.tell_of_objects != nullptr) state.tell_of_objects();
}

// Whether forebay.h declares `name`. The interposer is loaded with local scope, where dlsym finds
// nothing.
bool is_public(const char* name) {
  for (const char* one : {"forebay_get_statistics", "forebay_describe_hint", "forebay_abi"})
    if (std::strcmp(name, one) == 0) return true;
  return false;
}

void scan_if_objects_were_loaded() {
  if (loads_so_far() == state.seen_loads.load(std::memory_order_acquire)) return;
  const int error = errno;
  with_loader_lock(state.self, scan, nullptr);
  errno = error;
}

bool find_real_functions(std::span<const Object> objects) {
  const Object* dlopen_home = first_definer(objects, "dlopen");
  const Object* dlsym_home = first_definer(objects, "dlsym");
  if (dlopen_home == nullptr || dlsym_home == nullptr) return false;
  forebay_real_dlopen = defined_symbol(*dlopen_home, "dlopen");
  forebay_real_dlsym = defined_symbol(*dlsym_home, "dlsym");
  return true;
}

[[gnu::constructor]] void start() {
  // A process with more rights than its user must not run the user's code.
  if (getauxval(AT_SECURE) != 0) return;
  const int error = errno;
  note("loaded", "");
  note_other_preload();
  Snapshot snapshot;
  snapshot.take();
  Dl_info self;
  if (find_real_functions(snapshot.span()) && dladdr(&state, &self) != 0) {
    state.startup_count = snapshot.count;
    state.self_path = self.dli_fname;
    state.self = real_dlopen()(self.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
    if (state.self != nullptr) with_loader_lock(state.self, scan, nullptr);
  }
  errno = error;
}

}  // namespace
}  // namespace forebay::preload

void forebay_before_dlopen() { forebay::preload::scan_if_objects_were_loaded(); }

void* forebay_before_dlsym(void* handle, const char* name, const void* caller) {
  using namespace forebay::preload;
  scan_if_objects_were_loaded();
  if (name != nullptr && is_public(name)) {
    void* interposer = state.interposer.load(std::memory_order_acquire);
    return interposer != nullptr ? real_dlsym()(interposer, name) : nullptr;
  }
  const Bindings::Binding* binding = name != nullptr ? state.bindings.find(name) : nullptr;
  if (binding == nullptr) return nullptr;
  struct {
    Lookup lookup;
    bool ours;
  } question{{handle, caller, *binding, state.startup_count}, false};
  const auto answer = [](void* argument) {
    auto* asked = static_cast<decltype(question)*>(argument);
    asked->ours = leads_to_library(asked->lookup);
  };
  with_loader_lock(state.self, answer, &question);
  return question.ours ? reinterpret_cast<void*>(binding->interposer) : nullptr;
}
