// Functions to which the slots of dlopen and dlsym point. A hook handles newly loaded objects, then
// jumps to the real function and leaves the caller's return address in place. The real functions
// depend on their caller (run paths, RTLD_NEXT, namespaces), so a hook must not call them.
#pragma once

#include <cstdint>

extern "C" {
// hooks.S: the stubs, and the real functions they jump to.
void* forebay_dlopen_hook(const char* path, int mode);
void* forebay_dlsym_hook(void* handle, const char* name);
extern uintptr_t forebay_real_dlopen;
extern uintptr_t forebay_real_dlsym;

// preload.cpp: called by the stubs. If the result is not null, dlsym returns it.
void forebay_before_dlopen();
void* forebay_before_dlsym(void* handle, const char* name, const void* caller);
}

namespace forebay::preload {

// The real functions, for calls from this library. A call by name could lead back into the hooks,
// if the program's own linkage table stands for dlsym.
inline auto real_dlopen() {
  return reinterpret_cast<void* (*)(const char*, int)>(forebay_real_dlopen);
}
inline auto real_dlsym() {
  return reinterpret_cast<void* (*)(void*, const char*)>(forebay_real_dlsym);
}

}  // namespace forebay::preload
