// Runs a function while this thread holds the dynamic linker's lock, so that no other thread is in
// the middle of loading, relocating or unloading an object.
#pragma once

namespace forebay::preload {

// `self` is this library's own handle. The lock is recursive: the function may call the dynamic
// linker, and this may be called from a constructor that runs within dlopen.
void with_loader_lock(void* self, void (*function)(void*), void* argument);

}  // namespace forebay::preload
