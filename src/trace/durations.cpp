#include "trace/durations.h"

#include <algorithm>
#include <bit>

namespace forebay::trace {

namespace {

constexpr uint32_t exact_below = 16;  // symbols below this are the number itself
constexpr uint32_t top_bits = 2;  // bits of a larger number in its symbol, below the highest bit
constexpr uint32_t first_exponent = 4;  // exponent of exact_below

}  // namespace

Magnitude Magnitude::of(uint64_t value) {
  if (value < exact_below) return {static_cast<uint8_t>(value), 0};
  const auto exponent = static_cast<uint32_t>(std::bit_width(value)) - 1;
  const uint32_t low = exponent - top_bits;
  const auto top = static_cast<uint32_t>(value >> low) & ((1u << top_bits) - 1);
  return {static_cast<uint8_t>(exact_below + ((exponent - first_exponent) << top_bits) + top),
          static_cast<uint8_t>(low)};
}

Magnitude Magnitude::of_symbol(uint8_t symbol) {
  if (symbol < exact_below) return {symbol, 0};
  const uint32_t exponent = ((symbol - exact_below) >> top_bits) + first_exponent;
  return {symbol, static_cast<uint8_t>(exponent - top_bits)};
}

uint64_t Magnitude::base() const {
  if (symbol < exact_below) return symbol;
  const uint64_t top = (symbol - exact_below) & ((1u << top_bits) - 1);
  return ((uint64_t{1} << top_bits) | top) << low_bits;
}

void BitWriter::put(uint64_t value, uint32_t bits) {
  while (bits > 0) {
    const uint32_t taken = std::min(bits, 8 - count_);
    pending_ |= (value & ((uint64_t{1} << taken) - 1)) << count_;
    count_ += taken;
    value >>= taken;
    bits -= taken;
    if (count_ == 8) finish();
  }
}

void BitWriter::finish() {
  if (count_ > 0) bytes_.push_back(static_cast<std::byte>(pending_));
  pending_ = 0;
  count_ = 0;
}

uint64_t BitReader::get(uint32_t bits) {
  uint64_t value = 0;
  for (uint32_t filled = 0; filled < bits;) {
    if (next_ == bytes_.size()) {
      ok_ = false;
      return 0;
    }
    const uint32_t taken = std::min(bits - filled, 8 - used_);
    const uint64_t part = (static_cast<uint64_t>(bytes_[next_]) >> used_) & ((1u << taken) - 1);
    value |= part << filled;
    filled += taken;
    used_ += taken;
    if (used_ == 8) {
      used_ = 0;
      ++next_;
    }
  }
  return value;
}

}  // namespace forebay::trace
