// Memory of a stand-in for a GPU: the host's touching it at its address is a fault. What plays the
// GPU's part finds the same bytes elsewhere.
#pragma once

#include <stddef.h>

// As cudaMalloc and cudaMallocManaged: of the device alone, and of both.
void* device_allocate(size_t bytes);
void* device_allocate_managed(size_t bytes);

// For the stand-ins. What lies at `address`: nothing of the device's, memory of the device alone,
// or managed memory.
enum DeviceKind { not_device, device_only, device_managed };
enum DeviceKind device_kind(const void* address);
// Where the bytes at a device-only address can be touched; any other address as it is.
void* device_bytes(const void* address);
