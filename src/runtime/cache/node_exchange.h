// The nodes that have a file open together, as the cache of one of them sees the others. What carries
// the bytes is not known here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "extent/extent.h"
#include "extent/status.h"
#include "storage/storage.h"

namespace forebay::runtime {

// All nodes make the same calls, in the same order. A node is a number, from 0.
class NodeExchange {
 public:
  using Accept = std::function<Status(Extent extent, const std::byte* bytes)>;
  using Settle = std::function<void(uint32_t node, bool taken)>;

  virtual ~NodeExchange() = default;
  virtual uint32_t count() const = 0;
  virtual uint32_t self() const = 0;
  // Sends lists[node], bytes of the file in memory, to each other node, and calls accept() for each
  // run of bytes that came. Returns whether any node has `more`.
  virtual bool exchange(std::span<const std::span<const Request>> lists, bool more,
                        const Accept& accept) = 0;
  // Tells each sender whether accept() took all of its list, and calls settle() with each other
  // node's answer.
  virtual void answer(const Settle& settle) = 0;
};

}  // namespace forebay::runtime
