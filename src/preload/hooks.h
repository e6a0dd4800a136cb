// What the slots of dlopen and dlsym are pointed to. The hooks look after newly loaded objects and
// then jump to the real function with the caller's return address in place: both functions act by
// who calls them (run paths, RTLD_NEXT, namespaces), so they must not be called from here.
#pragma once

#include <cstdint>

extern "C" {
// hooks.S: the stubs, and the real functions they jump to.
void* forebay_dlopen_hook(const char* path, int mode);
void* forebay_dlsym_hook(void* handle, const char* name);
extern uintptr_t forebay_real_dlopen;
extern uintptr_t forebay_real_dlsym;

// preload.cpp: called by the stubs. A result other than null is what dlsym returns.
void forebay_before_dlopen();
void* forebay_before_dlsym(void* handle, const char* name, const void* caller);
}

namespace forebay::preload {

// The real functions to call from within: by way of their slots a program whose own linkage table
// stands for dlsym would lead back into the hooks.
inline auto real_dlopen() {
  return reinterpret_cast<void* (*)(const char*, int)>(forebay_real_dlopen);
}
inline auto real_dlsym() {
  return reinterpret_cast<void* (*)(void*, const char*)>(forebay_real_dlsym);
}

}  // namespace forebay::preload
