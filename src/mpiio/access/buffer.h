// A user's buffer: where the bytes of a call lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "extent/extent.h"
#include "mpiio/access/access.h"
#include "mpiio/types/memory_type.h"

namespace forebay::mpiio {

struct Buffer {
  int64_t bytes = 0;
  std::byte* dense = nullptr;        // first byte, if the data is one run in order
  Tiling tiling;                     // otherwise; offsets are addresses
  const std::byte* first = nullptr;  // first data byte
};

// Fills `buffer`. False: count and type describe none (count negative or too large, type not
// committed).
inline bool describe_buffer(const Handle& handle, const Call& call, Buffer& buffer) {
  const MemoryType* type = memory_type(handle.own.comm, call.type);
  if (type == nullptr || call.count < 0 ||
      __builtin_mul_overflow(call.count, type->size, &buffer.bytes))
    return false;
  // MPI_BOTTOM is address 0, to which absolute displacements are added.
  const auto address = reinterpret_cast<intptr_t>(call.buffer);
  auto* const first = reinterpret_cast<std::byte*>(address + type->first);
  buffer.first = first;
  if (type->dense || (call.count <= 1 && type->layout->contiguous()))
    buffer.dense = first;
  else
    buffer.tiling = Tiling{type->layout, address, type->extent};
  return true;
}

// Walks the runs of a buffer. A dense buffer is one run, of which next() returns as much as is
// asked for.
class BufferWalk {
 public:
  explicit BufferWalk(const Buffer& buffer)
      : dense_(buffer.dense), cursor_(buffer.dense ? one_run() : buffer.tiling, 0) {}

  Extent next(int64_t max_bytes) {
    if (dense_ == nullptr) return cursor_.next(max_bytes);
    const Extent run{reinterpret_cast<intptr_t>(dense_), max_bytes};
    dense_ += max_bytes;
    return run;
  }

 private:
  static const Tiling& one_run() {
    static const Tiling tiling{Layout::block(1), 0, 1};
    return tiling;
  }
  std::byte* dense_;
  Cursor cursor_;
};

}  // namespace forebay::mpiio
