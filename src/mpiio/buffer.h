// A user's buffer: where the bytes of a call lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpiio/access.h"
#include "mpiio/memory_type.h"

namespace forebay::mpiio {

struct Buffer {
  int64_t bytes = 0;
  std::byte* dense = nullptr;  // first byte, when the data is one run in order
  Tiling tiling;               // otherwise; offsets are addresses
};

// False when count and type describe no buffer (negative, too large, not a committed type).
inline bool describe_buffer(const Handle& handle, const Call& call, Buffer& buffer) {
  const MemoryType* type = memory_type(handle.own.comm, call.type);
  if (type == nullptr || call.count < 0 ||
      __builtin_mul_overflow(call.count, type->size, &buffer.bytes))
    return false;
  // MPI_BOTTOM is address 0, to which absolute displacements are added.
  const auto address = reinterpret_cast<intptr_t>(call.buffer);
  if (type->dense || (call.count <= 1 && type->layout->contiguous()))
    buffer.dense = reinterpret_cast<std::byte*>(address + type->first);
  else
    buffer.tiling = Tiling{type->layout, address, type->extent};
  return true;
}

}  // namespace forebay::mpiio
