// Another way to owners than their agents, which a JobFile takes while all ranks of a handle are in
// one collective call: each asks a rank of the owner's node, and answers others' questions while it
// waits. As questions to agents are, those of a window are begun one after the other, and then
// ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "extent/extent.h"
#include "extent/status.h"

namespace forebay::agent {

class OwnersExchange {
 public:
  virtual ~OwnersExchange() = default;

  // That take part.
  virtual int64_t ranks() const = 0;
  // A rank of the owner's node takes part.
  virtual bool reaches(uint32_t owner) const = 0;
  // `extents` ascend; `data`: their bytes, in order. Both stay until end(). A question that could
  // not begin has no end.
  virtual Status begin_write(uint32_t owner, std::span<const Extent> extents,
                             std::span<const std::byte> data) = 0;
  // `bytes`: the sum of the extents.
  virtual Status begin_read(uint32_t owner, std::span<const Extent> extents, int64_t bytes) = 0;
  // *moved: the bytes before the end of file.
  virtual Status end(uint32_t owner, int64_t* moved) = 0;
  // Of the latest read: the bytes before the end of file.
  virtual std::span<const std::byte> answer(uint32_t owner) const = 0;
  // Of all that others have read through this rank: the bytes that storage had to deliver.
  virtual int64_t storage_bytes_for_others() const = 0;
};

}  // namespace forebay::agent
