// The layout of a file on Lustre, as its attribute tells it.
#include "storage/lustre_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace forebay {
namespace {

struct Layout {
  uint32_t magic = 0x0bd10bd0;
  uint32_t pattern = 1;
  uint64_t object[2] = {77, 0};
  uint32_t stripe_bytes = 4 << 20;
  uint16_t stripes = 8;
  uint16_t first = 3;
};

std::vector<std::byte> bytes_of(const Layout& layout) {
  std::vector<std::byte> bytes(sizeof layout + 8 * 24);  // and the objects
  std::memcpy(bytes.data(), &layout, sizeof layout);
  return bytes;
}

TEST(LustreLayout, TellsTheStripes) {
  for (const uint32_t magic : {0x0bd10bd0u, 0x0bd30bd0u}) {
    const Stripes found = stripes_in_layout(bytes_of({.magic = magic}));
    EXPECT_EQ(found.bytes, 4 << 20);
    EXPECT_EQ(found.servers, 8);
  }
}

TEST(LustreLayout, KnowsNothingOfOtherLayouts) {
  const Layout others[] = {{.magic = 0x0bd60bd0}, {.pattern = 0x100},  {.pattern = 0x80000001},
                           {.stripe_bytes = 0},   {.stripes = 0xffff}, {.stripes = 0}};
  for (const Layout& other : others) EXPECT_EQ(stripes_in_layout(bytes_of(other)).bytes, 0);
}

TEST(LustreLayout, NeedsAllOfIt) {
  const std::vector<std::byte> whole = bytes_of({});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Stripes found = stripes_in_layout(std::span(whole).first(length));
    EXPECT_EQ(found.servers, length < 32 ? 0 : 8) << length;
  }
}

}  // namespace
}  // namespace forebay
