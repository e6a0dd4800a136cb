#include "engine/owner_windows.h"

#include <gtest/gtest.h>

#include <set>

namespace forebay {
namespace {

constexpr int64_t window_page = 4096;

// Windows of all ranks, twice, fill the owners' caches as far as handles may be apart.
TEST(CollectiveWindow, HasRoomInTheOwnersCaches) {
  const int64_t pace = 16 << 20;
  for (const int64_t ranks : {3, 4, 64, 256}) {
    const int64_t window = collective_window_bytes(pace, ranks, window_page);
    EXPECT_LE(2 * ranks * window, pace) << ranks;
    EXPECT_GT(2 * ranks * (window + window_page), pace) << ranks;
  }
}

TEST(CollectiveWindow, IsAPageAtLeastAndBounded) {
  EXPECT_EQ(collective_window_bytes(window_page, 1000, window_page), window_page);
  EXPECT_EQ(collective_window_bytes(int64_t{1} << 40, 2, window_page), most_window_bytes);
  EXPECT_EQ(collective_window_bytes(int64_t{1} << 40, 0, window_page), most_window_bytes);
}

// At each step of an exchange the nodes ask different owners.
TEST(PlaceAmongAsked, DiffersBetweenNodes) {
  constexpr uint32_t owners = 7;
  for (uint32_t owner = 0; owner < owners; ++owner) {
    std::set<uint32_t> places;
    for (uint32_t node = 0; node < owners; ++node)
      places.insert(place_among_asked(owner, node, owners));
    EXPECT_EQ(places.size(), owners);
    EXPECT_EQ(*places.rbegin(), owners - 1);
    EXPECT_EQ(place_among_asked(owner, owner, owners), 0);
    EXPECT_LT(place_among_asked(owner, 0xffffffffu, owners), owners);  // a node that owns nothing
  }
}

}  // namespace
}  // namespace forebay
