// Memory in many pieces: a buffer that a noncontiguous data type describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "extent/layout.h"

namespace forebay::runtime {

// The data bytes of a buffer from a position on. Copies share one walk through the buffer. A use
// that begins where the walk stands needs no search.
class ScatteredMemory {
 public:
  class Walk {
   public:
    // Offsets of `buffer` are addresses.
    explicit Walk(const Tiling& buffer) : buffer_(buffer) {}
    Cursor& at(int64_t position) {
      if (!cursor_ || cursor_->position() != position) cursor_.emplace(buffer_, position);
      return *cursor_;
    }

   private:
    const Tiling& buffer_;
    std::optional<Cursor> cursor_;
  };

  explicit ScatteredMemory(Walk& walk) : walk_(&walk) {}
  ScatteredMemory operator+(int64_t bytes) const {
    ScatteredMemory further = *this;
    further.position_ += bytes;
    return further;
  }

  // Calls `each(memory, length)` for the pieces of the next `length` bytes, in order.
  template <typename Each>
  void for_each_piece(int64_t length, Each each) const {
    Cursor& cursor = walk_->at(position_);
    while (length > 0) {
      const Extent piece = cursor.next(length);
      each(reinterpret_cast<std::byte*>(piece.offset), piece.length);
      length -= piece.length;
    }
  }

 private:
  Walk* walk_;
  int64_t position_ = 0;
};

}  // namespace forebay::runtime
