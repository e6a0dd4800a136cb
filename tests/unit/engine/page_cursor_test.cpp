#include "engine/page_cursor.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace forebay {
namespace {

TEST(PageCursor, GivesThePagesOfExtentsInOrder) {
  std::mt19937_64 random(5);
  for (int program = 0; program < 2000; ++program) {
    const auto page_size = static_cast<int64_t>(1 + random() % 100);
    std::vector<Extent> extents(random() % 6);
    std::vector<int64_t> expected;
    for (Extent& extent : extents) {
      extent = {static_cast<int64_t>(random() % 500), static_cast<int64_t>(1 + random() % 300)};
      for (int64_t page = extent.offset / page_size; page * page_size < extent.end(); ++page) {
        if (expected.empty() || expected.back() != page) expected.push_back(page);
      }
    }
    std::vector<int64_t> pages;
    for (PageCursor cursor(extents, page_size); !cursor.done(); cursor.advance()) {
      pages.push_back(cursor.page());
      ASSERT_LE(pages.size(), expected.size());
    }
    EXPECT_EQ(pages, expected);
  }
}

}  // namespace
}  // namespace forebay
