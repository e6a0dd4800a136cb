// The memory of a stand-in for a GPU. If the host touches it at its address, that is a fault. Code
// in the role of the GPU finds the same bytes elsewhere.
#pragma once

#include <stddef.h>

// Like cudaMalloc and cudaMallocManaged: memory of the device alone, and memory of both.
void* device_allocate(size_t bytes);
void* device_allocate_managed(size_t bytes);

// For the stand-ins: the kind of memory at `address`.
enum DeviceKind { not_device, device_only, device_managed };
enum DeviceKind device_kind(const void* address);
// The address at which the bytes of a device-only address can be touched; another address
// unchanged.
void* device_bytes(const void* address);
