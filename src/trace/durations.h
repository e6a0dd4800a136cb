// Codes numbers of any size, such as times, whose order of magnitude repeats and whose low bits do
// not. Each number is divided into a symbol, its magnitude, which compresses well, and its low
// bits, which do not compress and are packed unchanged.
#pragma once

#include <cstdint>

#include "trace/bytes.h"

namespace forebay::trace {

// Symbols 0 to 15 are the numbers themselves. Larger numbers have four symbols per power of two.
struct Magnitude {
  uint8_t symbol;
  uint8_t low_bits;  // number of low bits that the symbol leaves out

  static Magnitude of(uint64_t value);
  static Magnitude of_symbol(uint8_t symbol);
  uint64_t base() const;  // the smallest number with this symbol
};

class BitWriter {
 public:
  explicit BitWriter(Bytes& bytes) : bytes_(bytes) {}
  void put(uint64_t value, uint32_t bits);
  void finish();

 private:
  Bytes& bytes_;
  uint64_t pending_ = 0;
  uint32_t count_ = 0;
};

class BitReader {
 public:
  explicit BitReader(ByteView bytes) : bytes_(bytes) {}
  uint64_t get(uint32_t bits);  // zero bits beyond the end; then ok() is false
  bool ok() const { return ok_; }

 private:
  ByteView bytes_;
  std::size_t next_ = 0;
  uint32_t used_ = 0;  // bits already read of the byte at next_
  bool ok_ = true;
};

}  // namespace forebay::trace
