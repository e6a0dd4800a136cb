// Runs a function while this thread holds the dynamic linker's lock. So no other thread is loading,
// relocating or unloading an object meanwhile.
#pragma once

namespace forebay::preload {

// `self` is this library's own handle. The lock is recursive: the function may call the dynamic
// linker, and a constructor that runs within dlopen may call this.
void with_loader_lock(void* self, void (*function)(void*), void* argument);

}  // namespace forebay::preload
