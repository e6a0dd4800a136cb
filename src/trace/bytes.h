// Numbers as bytes: little-endian, or of variable length (LEB128). A ByteReader never reads beyond
// its bytes. After the first missing or wrong byte every read returns 0, and ok() is false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::trace {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

// Both wrap around, so that any number can be predicted from any other.
inline int64_t difference(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b); }
inline uint64_t sum(uint64_t a, int64_t b) { return a + static_cast<uint64_t>(b); }

class ByteWriter {
 public:
  explicit ByteWriter(Bytes& bytes) : bytes_(bytes) {}

  void u8(uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void u32(uint32_t value) { fixed(value, 4); }
  void u64(uint64_t value) { fixed(value, 8); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<uint8_t>(value | 0x80));
    u8(static_cast<uint8_t>(value));
  }
  void signed_varint(int64_t value) { varint(zigzag(value)); }
  void bytes(ByteView view) { bytes_.insert(bytes_.end(), view.begin(), view.end()); }
  void text(std::string_view text) {
    varint(text.size());
    bytes(std::as_bytes(std::span(text)));
  }

 private:
  void fixed(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) u8(static_cast<uint8_t>(value >> (8 * i)));
  }
  Bytes& bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool at_end() const { return next_ == bytes_.size(); }
  std::size_t left() const { return bytes_.size() - next_; }

  uint8_t u8() { return static_cast<uint8_t>(fixed(1)); }
  uint32_t u32() { return static_cast<uint32_t>(fixed(4)); }
  uint64_t u64() { return fixed(8); }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t part = u8();
      if (shift == 63 && part > 1) break;
      value |= static_cast<uint64_t>(part & 0x7f) << shift;
      if ((part & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  int64_t signed_varint() { return unzigzag(varint()); }
  ByteView bytes(uint64_t count) {
    if (count > left()) {
      ok_ = false;
      next_ = bytes_.size();
      return {};
    }
    const ByteView view = bytes_.subspan(next_, static_cast<std::size_t>(count));
    next_ += view.size();
    return view;
  }
  std::string text() {
    const ByteView view = bytes(varint());
    return {reinterpret_cast<const char*>(view.data()), view.size()};
  }

 private:
  uint64_t fixed(std::size_t count) {
    uint64_t value = 0;
    const ByteView view = bytes(count);
    for (std::size_t i = 0; i < view.size(); ++i)
      value |= static_cast<uint64_t>(view[i]) << (8 * i);
    return value;
  }
  ByteView bytes_;
  std::size_t next_ = 0;
  bool ok_ = true;
};

// The CRC-32C (Castagnoli) of `bytes` after bytes whose CRC-32C is `before`.
uint32_t crc32c(ByteView bytes, uint32_t before = 0);

}  // namespace forebay::trace
