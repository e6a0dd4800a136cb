// Buffers in a GPU's memory, which the host must not touch.
//
// Whether a buffer is one is asked of the CUDA, HIP or Level Zero library that the program itself
// has loaded, found by its name among the loaded objects: none is linked, nor loaded by us. The
// bytes are copied by the MPI library, which is the one that such a program relies on to know its
// GPU's memory; what is cached is a copy in the host's memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "extent/status.h"
#include "mpiio/access/buffer.h"
#include "mpiio/file/handle.h"

namespace forebay::mpiio {

namespace internal {
// Odd while a GPU library may be loaded; grows with each object that we are told of.
extern std::atomic<uint64_t> gpu_library_possible;
bool asks_gpu_library(const void* address);
}  // namespace internal

// Whether `address` lies in memory of a GPU that the host must not touch. What CUDA, HIP and Level
// Zero move to and fro by themselves (managed, shared memory) the host may.
inline bool is_device_memory(const void* address) {
  return internal::gpu_library_possible.load(std::memory_order_acquire) & 1 &&
         internal::asks_gpu_library(address);
}

// A GPU library may have been loaded since the last look.
void expect_gpu_library();
// Objects were loaded. Whoever says so once says so each time: none is looked for in between.
void note_loaded_objects();

// Copies a device buffer's bytes, in order and piece by piece, from or to host memory. Waits for no
// other rank. With the handle's lock.
class DeviceCopy {
 public:
  DeviceCopy(const Handle& handle, const Buffer& buffer) : handle_(handle), walk_(buffer) {}
  Status to_host(std::byte* host, int64_t bytes);          // the next bytes of the buffer
  Status from_host(const std::byte* host, int64_t bytes);  // likewise

 private:
  template <typename Exchange>
  Status exchange_next(int64_t bytes, Exchange exchange);
  const Handle& handle_;
  BufferWalk walk_;
};

}  // namespace forebay::mpiio
