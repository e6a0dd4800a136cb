#include <array>

#include "trace/bytes.h"

namespace forebay::trace {

namespace {

constexpr uint32_t reversed_polynomial = 0x82f63b78u;

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? reversed_polynomial : 0);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> crc_of_byte = make_table();

}  // namespace

uint32_t crc32c(ByteView bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (const std::byte byte : bytes)
    crc = (crc >> 8) ^ crc_of_byte[(crc ^ static_cast<uint32_t>(byte)) & 0xff];
  return ~crc;
}

}  // namespace forebay::trace
