// A rank's user buffer for one transfer, with guard bytes in the gaps of the memory type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype.h"
#include "file_model.h"
#include "operation.h"

namespace random_io {

class Buffer {
 public:
  static constexpr std::byte kGuard{0xA5};

  Buffer(const Part& part, const Transfer& transfer);

  void* address() const { return base_; }
  // Returns the data bytes in order, and replaces them by the guard's pattern.
  std::vector<std::byte> take_data();
  bool gaps_intact() const;  // after take_data()

 private:
  DatatypeRef type_;
  int64_t bytes_;
  std::vector<std::byte> storage_;
  std::byte* base_;
};

}  // namespace random_io
