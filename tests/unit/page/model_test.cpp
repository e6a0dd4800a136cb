// Every page kind against a model with three flags per byte: seeded random sequences of operations,
// and all regions of a smallest page one by one.
#include "unit/page/model.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "page/page_kind.h"
#include "unit/variants.h"

namespace forebay {
namespace {

using test::Pair;
using test::RegionSource;

class PageModel : public testing::TestWithParam<const PageKind*> {};

INSTANTIATE_TEST_SUITE_P(Kinds, PageModel, testing::ValuesIn(test::page_kinds_and_template()),
                         [](const auto& param) { return std::string(param.param->name()); });

void run_sequence(const PageKind& kind, int64_t page_size, uint64_t seed, int operations) {
  SCOPED_TRACE("page size " + std::to_string(page_size) + ", seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  RegionSource source(random, page_size);
  Pair pair(kind, page_size);
  for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("operation " + std::to_string(i));
    test::random_operation(pair, source);
  }
}

TEST_P(PageModel, RandomSequences) {
  for (uint64_t seed = 1; seed <= 1000 && !HasFailure(); ++seed) {
    run_sequence(*GetParam(), 512, seed, 40);
    run_sequence(*GetParam(), 64 * 23, seed, 30);
  }
  for (uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    run_sequence(*GetParam(), 4096, seed, 200);
    run_sequence(*GetParam(), 65536, seed, 30);
  }
}

TEST_P(PageModel, EveryRegionOfASmallPage) {
  constexpr int64_t size = 512;
  const PageKind& kind = *GetParam();
  std::vector<uint64_t> state(kind.state_bytes(size) / sizeof(uint64_t));
  Regions regions;
  for (int64_t offset = 0; offset < size; ++offset) {
    for (int64_t length = 1; offset + length <= size; ++length) {
      const Extent region{offset, length};
      kind.reset(state.data(), size);
      ASSERT_TRUE(kind.publish(state.data(), size, region));
      ASSERT_TRUE(kind.holds(state.data(), size, region));
      regions.clear();
      kind.take_dirty(state.data(), size, regions);
      ASSERT_EQ(regions, Regions{region});
      ASSERT_FALSE(kind.any_dirty(state.data(), size));
      ASSERT_TRUE(kind.holds(state.data(), size, region));
      regions.clear();
      kind.unsaved(state.data(), size, regions);
      ASSERT_EQ(regions, Regions{region});
      kind.settle(state.data(), size, true);
      regions.clear();
      kind.unsaved(state.data(), size, regions);
      ASSERT_EQ(regions, Regions{});
      ASSERT_TRUE(kind.holds(state.data(), size, region));
      ASSERT_FALSE(offset > 0 && kind.holds(state.data(), size, {offset - 1, 2}));
      ASSERT_FALSE(region.end() < size && kind.holds(state.data(), size, {region.end() - 1, 2}));
    }
  }
}

TEST_P(PageModel, AlternatingBytesAreRefusedOrKept) {
  for (const int64_t size : {int64_t{512}, int64_t{2048}}) {
    Pair pair(*GetParam(), size);
    for (int64_t i = 0; i < size; i += 2) pair.publish({i, 1});
    for (int64_t i = 1; i < size; i += 4) pair.fill({i, 1});
    pair.fill({0, size});
    pair.take_dirty();
    pair.fill({0, size});
    for (int64_t i = 1; i < size; i += 2) pair.publish({i, 1});
    if (pair.in_flight()) pair.settle(false);
    pair.fill({0, size});
    pair.look({0, size});
  }
}

// Rewriting bytes in flight splits the region in flight again and again.
TEST_P(PageModel, RewritingBytesInFlight) {
  for (const bool stored : {true, false}) {
    constexpr int64_t size = 2048;
    Pair pair(*GetParam(), size);
    pair.publish({0, size});
    pair.take_dirty();
    for (int64_t i = 1; i < size; i += 100) pair.publish({i, 7});
    pair.drop_clean();
    if (pair.in_flight()) pair.settle(stored);
    pair.drop_clean();
  }
}

TEST_P(PageModel, EmptyRegionsChangeNothing) {
  Pair pair(*GetParam(), 1024);
  pair.publish({100, 0});
  pair.fill({1024, 0});
  pair.look({1024, 0});
  pair.truncate(1024);
  pair.publish({0, 1024});
  pair.truncate(0);
}

TEST_P(PageModel, LargestPage) {
  const PageKind& kind = *GetParam();
  std::vector<uint64_t> state(kind.state_bytes(largest_page_size) / sizeof(uint64_t));
  kind.reset(state.data(), largest_page_size);
  const Extent last{largest_page_size - 1, 1};
  EXPECT_TRUE(kind.publish(state.data(), largest_page_size, last));
  EXPECT_TRUE(kind.publish(state.data(), largest_page_size, {0, 3}));
  Regions regions;
  kind.take_dirty(state.data(), largest_page_size, regions);
  EXPECT_EQ(regions, (Regions{{0, 3}, last}));
}

TEST(PageKinds, AreFoundByName) {
  for (const PageKind* kind : page_kinds()) EXPECT_EQ(find_page_kind(kind->name()), kind);
  EXPECT_EQ(find_page_kind("no such kind"), nullptr);
}

}  // namespace
}  // namespace forebay
