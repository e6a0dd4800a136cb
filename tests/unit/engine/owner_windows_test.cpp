#include "engine/owner_windows.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr int64_t window_page = 4096;

// Windows of all ranks, twice, fill the owners' caches as far as handles may be apart.
TEST(CollectiveWindow, HasRoomInTheOwnersCaches) {
  const int64_t pace = 16 << 20;
  for (const int64_t nodes : {1, 2, 8, 64}) {
    for (const int64_t owners : {int64_t{1}, (nodes + 1) / 2, nodes}) {
      const int64_t ranks = nodes * 4;
      const int64_t window = collective_window_bytes(pace, 4, ranks, owners, window_page);
      EXPECT_LE(2 * ranks * window, pace * owners) << nodes << " nodes, " << owners << " owners";
      EXPECT_GT(2 * ranks * (window + window_page), pace * owners) << nodes << ", " << owners;
    }
  }
}

// Handles of several communicators use this node's cache.
TEST(CollectiveWindow, LeavesRoomForOtherHandlesOfTheNode) {
  EXPECT_EQ(collective_window_bytes(16 << 20, 16, 4, 1, window_page), (16 << 20) / 32);
}

TEST(CollectiveWindow, IsAPageAtLeastAndBounded) {
  EXPECT_EQ(collective_window_bytes(window_page, 1, 1000, 1, window_page), window_page);
  EXPECT_EQ(collective_window_bytes(int64_t{1} << 40, 1, 2, 2, window_page), most_window_bytes);
  EXPECT_EQ(collective_window_bytes(int64_t{1} << 40, 0, 0, 1, window_page), most_window_bytes);
}

}  // namespace
}  // namespace forebay
