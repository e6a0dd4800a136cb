// Sets of extents, against a set of single bytes, and extents found by their places.
#include "sim/cluster/extent_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "extent/seeded_random.h"
#include "sim/cluster/extent_index.h"

namespace forebay::sim {
namespace {

using Bytes = std::set<int64_t>;

int64_t bytes_of(const Bytes& all, Extent place) {
  return std::distance(all.lower_bound(place.offset), all.lower_bound(place.end()));
}

// The first bytes of the place that are there, or are not.
Extent first_part(const Bytes& all, Extent place, bool there) {
  int64_t begin = place.offset;
  while (begin < place.end() && all.contains(begin) != there) ++begin;
  int64_t end = begin;
  while (end < place.end() && all.contains(end) == there) ++end;
  return {begin, end - begin};
}

TEST(ExtentSet, HoldsWhatASetOfBytesHolds) {
  SeededRandom random(1);
  for (int program = 0; program < 50; ++program) {
    ExtentSet set;
    Bytes bytes;
    const int64_t range = 10 + random.below(200);
    for (int step = 0; step < 200; ++step) {
      const int64_t begin = random.below(range);
      const Extent place{begin, random.below(1 + range / 4)};
      const int64_t before = std::ssize(bytes);
      if (random.one_in(2)) {
        for (int64_t at = begin; at < place.end(); ++at) bytes.insert(at);
        ASSERT_EQ(set.insert(place), std::ssize(bytes) - before);
      } else {
        for (int64_t at = begin; at < place.end(); ++at) bytes.erase(at);
        ASSERT_EQ(set.erase(place), before - std::ssize(bytes));
      }
      const int64_t from = random.below(range);
      const Extent asked{from, random.below(range)};
      ASSERT_EQ(set.bytes(), std::ssize(bytes));
      ASSERT_EQ(set.empty(), bytes.empty());
      ASSERT_EQ(set.bytes_within(asked), bytes_of(bytes, asked));
      ASSERT_EQ(set.covers(asked), bytes_of(bytes, asked) == asked.length);
      const Extent there = first_part(bytes, asked, true), gap = first_part(bytes, asked, false);
      ASSERT_EQ(set.next(asked).length, there.length);
      ASSERT_EQ(set.next_gap(asked).length, gap.length);
      if (!there.empty()) {
        ASSERT_EQ(set.next(asked).offset, there.offset);
      }
      if (!gap.empty()) {
        ASSERT_EQ(set.next_gap(asked).offset, gap.offset);
      }
    }
  }
}

// Extents that may overlap, against a list of them.
TEST(ExtentIndex, FindsWhatAListHolds) {
  SeededRandom random(2);
  for (int program = 0; program < 50; ++program) {
    ExtentIndex<int> index;
    std::vector<std::pair<Extent, int>> list;
    const int64_t range = 1 + random.below(100'000);
    for (int step = 0; step < 150; ++step) {
      const int64_t begin = random.below(range);
      if (!list.empty() && random.one_in(3)) {
        const auto at = list.begin() + random.below(std::ssize(list));
        const auto [extent, value] = *at;
        const auto taken = index.take(extent, [v = value](int other) { return other == v; });
        ASSERT_EQ(taken.extent, extent);
        ASSERT_EQ(taken.value, value);
        list.erase(at);
      } else {
        const int64_t most = random.one_in(10) ? INT64_MAX - begin : 1 + random.below(range);
        const Extent extent{begin, random.one_in(10) ? most : 1 + random.below(most)};
        index.insert(extent, step);
        list.emplace_back(extent, step);
      }
      ASSERT_EQ(index.size(), list.size());
      const Extent asked{random.below(range), 1 + random.below(range)};
      const auto odd = [](int value) { return value % 2 != 0; };
      std::set<int> found, expected;
      index.each_meeting(asked, [&](const auto& entry) { found.insert(entry.value); });
      int64_t last = 0, next = INT64_MAX;
      for (const auto& [extent, value] : list) {
        if (meet(extent, asked)) expected.insert(value);
        if (odd(value) && extent.end() <= asked.offset) last = std::max(last, extent.end());
        if (odd(value) && extent.offset >= asked.end()) next = std::min(next, extent.offset);
      }
      ASSERT_EQ(found, expected);
      ASSERT_EQ(index.last_end(asked.offset, 0, odd), last);
      ASSERT_EQ(index.next_begin(asked.end(), INT64_MAX, odd), next);
    }
  }
}

}  // namespace
}  // namespace forebay::sim
