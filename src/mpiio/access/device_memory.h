// Buffers in a GPU's memory, which the host must not touch.
//
// Whether a buffer is in such memory is asked of the CUDA, HIP or Level Zero library that the
// program itself has loaded. It is found by its name among the loaded objects; Forebay neither
// links nor loads one. The MPI library copies the bytes: a program with buffers in a GPU needs an
// MPI library that knows its memory. The cache holds copies in the host's memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "extent/status.h"
#include "mpiio/access/buffer.h"
#include "mpiio/file/handle.h"

namespace forebay::mpiio {

namespace internal {
// Odd while a GPU library may be loaded; grows whenever Forebay is told of loaded objects.
extern std::atomic<uint64_t> gpu_library_possible;
bool asks_gpu_library(const void* address);
}  // namespace internal

// Whether `address` lies in memory of a GPU that the host must not touch. The host may touch
// managed and shared memory, which CUDA, HIP and Level Zero move by themselves.
inline bool is_device_memory(const void* address) {
  return internal::gpu_library_possible.load(std::memory_order_acquire) & 1 &&
         internal::asks_gpu_library(address);
}

// Says that a GPU library may have been loaded since the last look.
void expect_gpu_library();
// Says that objects were loaded. A caller that says it once must say it each time: in between,
// Forebay does not look for libraries.
void note_loaded_objects();

// Copies a device buffer's bytes, in order and piece by piece, from or to host memory. Waits for no
// other rank. With the handle's lock.
class DeviceCopy {
 public:
  DeviceCopy(const Handle& handle, const Buffer& buffer) : handle_(handle), walk_(buffer) {}
  Status to_host(std::byte* host, int64_t bytes);          // the next bytes of the buffer
  Status from_host(const std::byte* host, int64_t bytes);  // to the next bytes of the buffer

 private:
  template <typename Exchange>
  Status exchange_next(int64_t bytes, Exchange exchange);
  const Handle& handle_;
  BufferWalk walk_;
};

}  // namespace forebay::mpiio
