// Bytes that several processes access, compared with a count of every byte.
#include "trace/sharing.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace forebay::trace {
namespace {

TEST(TraceSharing, WhatLiesApartIsNotShared) {
  EXPECT_EQ(sharing_of({}, 8).bytes, 0u);
  EXPECT_EQ(sharing_of({{0, {{0, 10}, {20, 30}}}, {1, {{10, 20}, {30, 40}}}}, 8).bytes, 0u);
}

TEST(TraceSharing, SetsAreToldApart) {
  // A header read by all, and halos between neighbours.
  const Sharing found = sharing_of(
      {{2, {{290, 400}, {0, 8}}}, {5, {{0, 8}, {90, 210}}}, {7, {{190, 310}, {0, 8}, {2, 6}}}}, 8);
  ASSERT_EQ(found.sets.size(), 3u);
  EXPECT_EQ(found.bytes, 8u + 20 + 20);
  EXPECT_EQ(found.sets[0].processes, (std::vector<uint32_t>{5, 7}));
  EXPECT_EQ(found.sets[0].bytes, 20u);
  EXPECT_EQ(found.sets[0].within.begin, 190);
  EXPECT_EQ(found.sets[0].within.end, 210);
  EXPECT_EQ(found.sets[1].processes, (std::vector<uint32_t>{2, 7}));
  EXPECT_EQ(found.sets[2].processes, (std::vector<uint32_t>{2, 5, 7}));
  EXPECT_EQ(found.sets[2].ranges, 1u);
}

TEST(TraceSharing, RandomRangesAgainstEveryByte) {
  std::mt19937 draw(3);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(draw() % limit); };
  for (int job = 0; job < 500; ++job) {
    std::map<uint32_t, std::vector<ByteRange>> touched;
    std::map<int64_t, std::set<uint32_t>> by_byte;
    for (int i = 0; i < 30; ++i) {
      const auto process = static_cast<uint32_t>(below(5));
      const int64_t begin = below(200), end = begin + 1 + below(12);
      touched[process].push_back({begin, end});
      for (int64_t byte = begin; byte < end; ++byte) by_byte[byte].insert(process);
    }
    std::map<std::set<uint32_t>, uint64_t> bytes, ranges;
    const std::set<uint32_t> nobody;
    uint64_t shared = 0;
    for (const auto& [byte, processes] : by_byte) {
      if (processes.size() < 2) continue;
      ++shared;
      ++bytes[processes];
      const auto before = by_byte.find(byte - 1);
      ranges[processes] += before == by_byte.end() || before->second != processes ? 1 : 0;
    }
    const std::size_t most = job % 2 == 0 ? 1000 : 3;
    const Sharing found = sharing_of(touched, most);
    EXPECT_EQ(found.bytes, shared);
    uint64_t listed = 0;
    for (const SharedBytes& set : found.sets) {
      const std::set<uint32_t> processes(set.processes.begin(), set.processes.end());
      EXPECT_EQ(set.bytes, bytes[processes]);
      EXPECT_EQ(set.ranges, ranges[processes]);
      listed += set.bytes;
    }
    EXPECT_EQ(found.sets.size(), std::min(most, bytes.size()));
    EXPECT_EQ(listed + found.left_out, shared);
    uint64_t in_ranges = 0;
    for (const ByteRange& range : found.ranges)
      in_ranges += static_cast<uint64_t>(range.end - range.begin);
    EXPECT_EQ(in_ranges, shared);
  }
}

}  // namespace
}  // namespace forebay::trace
