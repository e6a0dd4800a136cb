#include "storage/lustre_layout.h"

#include <cstring>

namespace forebay {
namespace {

template <typename Number>
int64_t number_at(std::span<const std::byte> bytes, std::size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

}  // namespace

Stripes stripes_in_layout(std::span<const std::byte> layout) {
  // A magic number, the pattern, the object's two numbers of 64 bits, bytes of a stripe, and with
  // 16 bits the stripes in a row.
  constexpr std::size_t pattern_at = 4, bytes_at = 24, count_at = 28, end = 32;
  constexpr int64_t magic_1 = 0x0bd10bd0, magic_3 = 0x0bd30bd0;
  constexpr int64_t raid0 = 1;
  constexpr int64_t all_servers = 0xffff;
  if (layout.size() < end) return {};
  const int64_t magic = number_at<uint32_t>(layout, 0);
  if (magic != magic_1 && magic != magic_3) return {};
  if (number_at<uint32_t>(layout, pattern_at) != raid0) return {};
  const Stripes stripes{number_at<uint32_t>(layout, bytes_at),
                        number_at<uint16_t>(layout, count_at)};
  const bool known = stripes.bytes > 0 && stripes.servers > 0 && stripes.servers != all_servers;
  return known ? stripes : Stripes();
}

}  // namespace forebay
