// Layouts of a file: every byte has one place, and servers have what they should.
#include "sim/cluster/pvfs_layout.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace forebay::sim {
namespace {

// The server of each byte, as a digit.
std::string servers_of(const PvfsLayout& layout, int64_t bytes) {
  std::string servers;
  for (int64_t at = 0; at < bytes; ++at)
    servers += static_cast<char>('0' + layout.place_of({at, 1}).server);
  return servers;
}

TEST(PvfsLayout, WithOneGroupStripsTakeTurnsOverAllServers) {
  EXPECT_EQ(servers_of({2, 4, 0, 5}, 18), "001122330011223300");
  EXPECT_EQ(servers_of({2, 4, 4, 5}, 18), "001122330011223300");
}

TEST(PvfsLayout, WithAServerAGroupAUnitLiesOnOneServer) {
  EXPECT_EQ(servers_of({2, 4, 1, 5}, 22), "0000011111222223333300");
}

TEST(PvfsLayout, AUnitLiesInStripsOnItsGroup) {
  EXPECT_EQ(servers_of({2, 4, 2, 5}, 22), "0011022332011002332211");
}

// Whatever the sizes: walking a file piece by piece, each server's part fills up without a gap.
TEST(PvfsLayout, EveryByteHasOnePlace) {
  for (const int64_t strip : {1, 3, 8}) {
    for (const auto& [servers, group] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {3, 0}, {6, 1}, {6, 2}, {6, 3}, {6, 6}}) {
      for (const int64_t unit : {1, 4, 10}) {
        const PvfsLayout layout(strip, servers, group, unit);
        constexpr int64_t bytes = 500;
        std::map<uint32_t, std::vector<Extent>> parts;
        for (Extent left{0, bytes}; !left.empty();) {
          const PvfsLayout::Place place = layout.place_of(left);
          ASSERT_GT(place.extent.length, 0);
          ASSERT_LT(place.server, servers);
          parts[place.server].push_back(place.extent);
          left = {left.offset + place.extent.length, left.length - place.extent.length};
        }
        for (uint32_t server = 0; server < servers; ++server) {
          int64_t end = 0;
          for (const Extent& part : parts[server]) {
            ASSERT_EQ(part.offset, end);
            end = part.end();
          }
          ASSERT_EQ(layout.bytes_on(server, bytes), end);
        }
      }
    }
  }
}

TEST(PvfsLayout, SaysWhatItsPartsAre) {
  EXPECT_EQ(PvfsLayout(2, 4, 0, 5).part_bytes(), 2);
  EXPECT_EQ(PvfsLayout(2, 4, 0, 5).parts(), 4);
  EXPECT_EQ(PvfsLayout(2, 4, 2, 5).part_bytes(), 5);
  EXPECT_EQ(PvfsLayout(2, 4, 2, 5).parts(), 2);
}

}  // namespace
}  // namespace forebay::sim
