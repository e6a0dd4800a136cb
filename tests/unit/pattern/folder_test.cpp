// Folding is exact for any accesses, and a loop nest becomes one pattern, however often it is
// repeated.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "pattern/raw_run.h"
#include "unit/pattern/program.h"

namespace forebay::pattern {

void PrintTo(const Access& access, std::ostream* out) {
  *out << "{" << access.offset << ", " << access.size << ", " << int{access.operation} << "}";
}

namespace {

using test::AccessList;
using test::expanded;
using test::fold;
using test::nest;
using test::RandomProgram;

// Checks what must hold for every signature.
void check(const AccessList& accesses, const Signature& signature) {
  ASSERT_EQ(signature.accesses, accesses.size());
  ASSERT_EQ(signature.lost, 0u);
  const AccessList all = expanded(signature);
  ASSERT_EQ(all.size(), accesses.size());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], accesses[i]) << "access " << i;
  uint64_t covered = 0;
  uint64_t next = 0;
  for (const Part& part : signature.parts) {
    ASSERT_EQ(part.first, next);
    next += part.accesses;
    ASSERT_TRUE(part.kind != Part::Kind::raw || part.accesses <= longest_raw_run);
    if (part.kind != Part::Kind::pattern) continue;
    covered += part.accesses;
    ASSERT_GE(signature.patterns[part.pattern].count, 3u);
    ASSERT_EQ(signature.patterns[part.pattern].accesses(), part.accesses);
  }
  EXPECT_EQ(signature.covered, covered);
}

TEST(PatternFold, GivesBackRandomPrograms) {
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    const AccessList accesses = program.accesses(1 + program.below(3000));
    check(accesses, fold(accesses, {.look_back = 1 + static_cast<uint32_t>(program.below(40))}));
    if (HasFatalFailure()) return;
  }
}

TEST(PatternFold, GivesBackNoise) {
  std::mt19937_64 random(7);
  for (const uint64_t different : {2u, 3u, 5u, 100u, 1'000'000'000u}) {
    AccessList accesses;
    for (int i = 0; i < 20'000; ++i) {
      accesses.push_back({static_cast<int64_t>(random() % different) * 100,
                          static_cast<int64_t>(random() % 3), static_cast<uint8_t>(random() % 2)});
    }
    check(accesses, fold(accesses));
  }
}

TEST(PatternFold, GivesBackRegularAccessesWithInterruptions) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    AccessList accesses = nest({{20, 100'000}, {7, 5000}, {9, 300}}, {1 << 20, 100, 1});
    for (int i = 0; i < 5; ++i) {
      const auto at = accesses.begin() + static_cast<std::ptrdiff_t>(random() % accesses.size());
      if (random() % 2 == 0) {
        accesses.erase(at);
      } else {
        accesses.insert(at, Access{static_cast<int64_t>(random()), 5, 0});
      }
    }
    const Signature signature = fold(accesses);
    check(accesses, signature);
    if (HasFatalFailure()) return;
    EXPECT_GT(signature.coverage(), 0.9);
    EXPECT_LT(signature.parts.size(), 60u);
  }
}

TEST(PatternFold, FindsAnyAccess) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    const AccessList accesses = program.accesses(2000);
    const Signature signature = fold(accesses);
    for (int i = 0; i < 50; ++i) {
      const uint64_t index = program.below(accesses.size());
      Cursor cursor(signature, index);
      for (uint64_t j = index; j < std::min<uint64_t>(index + 20, accesses.size()); ++j) {
        Access access;
        ASSERT_EQ(cursor.index(), j);
        ASSERT_TRUE(cursor.next(access));
        ASSERT_EQ(access, accesses[j]) << "access " << j << " from " << index;
      }
    }
    Access access;
    EXPECT_FALSE(Cursor(signature, accesses.size()).next(access));
    EXPECT_FALSE(Cursor(signature, accesses.size() + 1000).next(access));
  }
  Access access;
  EXPECT_FALSE(Cursor(Signature{}, 0).next(access));
}

TEST(PatternFold, ANestOfAnyDepthIsOnePattern) {
  std::vector<test::Level> levels;
  int64_t step = 1000;
  for (uint32_t depth = 1; depth <= 7; ++depth) {
    levels.insert(levels.begin(), {3 + depth % 3, step});
    step = step * 11 + 70;
    const AccessList accesses = nest(levels, {12345, 10, 1});
    const Signature signature = fold(accesses);
    check(accesses, signature);
    ASSERT_EQ(signature.parts.size(), 1u) << "depth " << depth;
    EXPECT_EQ(signature.patterns[0].depth(), depth);
    EXPECT_EQ(signature.coverage(), 1.0);
  }
}

// Except for nests with such similar accesses that a loop continues by chance after its end.
TEST(PatternFold, ARandomNestIsOnePattern) {
  constexpr int nests = 500;
  int in_one_pattern = 0;
  for (uint64_t seed = 0; seed < nests; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram program(seed);
    AccessList accesses;
    RandomProgram::run(program.loop(4, 3), accesses);
    const Signature signature = fold(accesses);
    check(accesses, signature);
    in_one_pattern += signature.parts.size() == 1 && signature.coverage() == 1.0 ? 1 : 0;
    EXPECT_LE(signature.parts.size(), 12u) << accesses.size();
  }
  RecordProperty("in_one_pattern", in_one_pattern);
  EXPECT_GE(in_one_pattern, nests * 95 / 100) << in_one_pattern;
}

TEST(PatternFold, ItsSizeDoesNotDependOnCounts) {
  const auto bytes = [](int64_t count) {
    return fold(nest({{count, 1 << 30}, {count, 1 << 20}, {count, 1 << 10}}, {0, 10, 0}))
        .memory_bytes();
  };
  EXPECT_EQ(bytes(4), bytes(100));
}

// A header that stays, three moving blocks of unlike size, a loop, a trailer that moves backward.
AccessList records(int64_t count) {
  AccessList accesses;
  for (int64_t i = 0; i < count; ++i) {
    accesses.push_back({0, 16, 0});
    for (const int64_t size : {100, 7, 300}) accesses.push_back({4096 + 1000 * i + size, size, 0});
    for (int64_t j = 0; j < 5; ++j) accesses.push_back({(1 << 20) + 9000 * i + 64 * j, 64, 1});
    accesses.push_back({(1 << 28) - 24 * i, 24, 1});
  }
  return accesses;
}

TEST(PatternFold, ABodyOfUnlikeAccessesIsOnePattern) {
  const AccessList accesses = records(100);
  const Signature signature = fold(accesses);
  check(accesses, signature);
  ASSERT_EQ(signature.parts.size(), 1u);
  const Pattern& loop = signature.patterns[0];
  EXPECT_EQ(loop.count, 100u);
  ASSERT_EQ(loop.body.size(), 6u);
  EXPECT_EQ(loop.body[0].steps, (std::vector<Step>{{0, 0}}));
  EXPECT_EQ(loop.body[2].size, 7);
  EXPECT_EQ(loop.body[2].steps, (std::vector<Step>{{1000, 0}}));
  EXPECT_EQ(loop.body[4].count, 5u);
  EXPECT_EQ(loop.body[4].body[0].steps, (std::vector<Step>{{64, 0}, {9000, 0}}));
  EXPECT_EQ(loop.body[5].steps, (std::vector<Step>{{-24, 0}}));
}

TEST(PatternFold, ABodyMayBeAsLongAsTheLookBack) {
  std::mt19937_64 random(4);
  for (const std::size_t length : {31u, 32u, 33u}) {
    AccessList body;
    for (std::size_t i = 0; i < length; ++i) {
      body.push_back({static_cast<int64_t>(random() % (1 << 30)), 1 + static_cast<int64_t>(i), 0});
    }
    AccessList accesses;
    for (int i = 0; i < 50; ++i) {
      for (Access& access : body) {
        accesses.push_back(access);
        access.offset += 1 << 20;
      }
    }
    const Signature signature = fold(accesses, {.look_back = 32});
    check(accesses, signature);
    EXPECT_EQ(signature.coverage(), length <= 32 ? 1.0 : 0.0);
  }
}

void row(AccessList& accesses, int64_t offset, int64_t step, int64_t count) {
  test::nest(accesses, {{count, step}}, {offset, 10, 0});
}

// `rounds` times: a header, a row, something else; then a loop that begins with the same header and
// the same row, or with the beginning of that row. The end of that loop is noticed only in the next
// round.
AccessList loops_that_begin_alike(int64_t rounds, int64_t long_row, int64_t short_row) {
  AccessList accesses;
  for (int64_t round = 0; round < rounds; ++round) {
    accesses.push_back({0, 16, 0});
    row(accesses, 1000, 10, long_row);
    accesses.push_back({9000 + 100 * round, 8, 0});
    for (int i = 0; i < 4; ++i) {
      accesses.push_back({0, 16, 0});
      row(accesses, 1000, 10, short_row);
      accesses.push_back({5000, 4, 0});
    }
  }
  return accesses;
}

TEST(PatternFold, ALoopThatEndsInsideOfWhatFollowsIsFolded) {
  for (const int64_t long_row : {5, 7}) {
    const AccessList accesses = loops_that_begin_alike(20, long_row, 5);
    const Signature signature = fold(accesses);
    check(accesses, signature);
    ASSERT_EQ(signature.parts.size(), 1u) << "rows of " << long_row;
    EXPECT_EQ(signature.patterns[0].count, 20u);
  }
}

TEST(PatternFold, ALoopInPlaceOfAnotherIsTold) {
  AccessList accesses;
  for (int64_t round = 0; round < 4; ++round) {
    accesses.push_back({0, 16, 0});
    if (round < 3) row(accesses, 2000, 20, 7);
    if (round == 3) row(accesses, 1000, 10, 4);
    accesses.push_back({9000 + 100 * round, 8, 0});
    for (int i = 0; i < 4; ++i) {
      accesses.push_back({0, 16, 0});
      row(accesses, 1000, 10, 4);
      accesses.push_back({5000, 4, 0});
    }
  }
  check(accesses, fold(accesses));
}

TEST(PatternFold, SizesMayGrowOrTakeTurns) {
  AccessList growing;
  AccessList turning;
  int64_t offset = 0;
  for (int64_t i = 0; i < 60; ++i) {
    growing.push_back({i * 100'000, 512 + 8 * i, 1});
    const int64_t size = (i % 3 + 1) * 100;
    turning.push_back({offset, size, 1});
    offset += size;
  }
  const Signature grown = fold(growing);
  check(growing, grown);
  ASSERT_EQ(grown.parts.size(), 1u);
  EXPECT_EQ(grown.patterns[0].body[0].steps, (std::vector<Step>{{100'000, 8}}));
  const Signature turned = fold(turning);
  check(turning, turned);
  ASSERT_EQ(turned.parts.size(), 1u);
  EXPECT_EQ(turned.patterns[0].count, 20u);
  EXPECT_EQ(turned.patterns[0].body.size(), 3u);
}

TEST(PatternFold, StepsMayBeNegativeNoneOrPassTheEndOfNumbers) {
  constexpr int64_t last = std::numeric_limits<int64_t>::max();
  for (const int64_t step : {int64_t{-4096}, int64_t{0}, int64_t{3}, last / 3, last, -last}) {
    const AccessList accesses = nest({{50, step}}, {last - 1000, 100, 0});
    const Signature signature = fold(accesses);
    check(accesses, signature);
    ASSERT_EQ(signature.parts.size(), 1u) << step;
    EXPECT_EQ(signature.patterns[0].body[0].steps[0].offset, step);
  }
}

TEST(PatternFold, TwoOfAKindAreNoPattern) {
  const Signature signature = fold(nest({{2, 100}}, {0, 100, 0}));
  EXPECT_EQ(signature.covered, 0u);
  ASSERT_EQ(signature.parts.size(), 1u);
  EXPECT_EQ(signature.parts[0].kind, Part::Kind::raw);
}

// Rows of a table, read in random order: one pattern at many places.
TEST(PatternFold, APatternThatComesAgainElsewhereIsKeptOnce) {
  std::mt19937_64 random(3);
  AccessList accesses;
  for (int row = 0; row < 500; ++row) {
    test::nest(accesses, {{8, 128}}, {static_cast<int64_t>(random() % (1 << 20)) * 4096, 64, 0});
  }
  const Signature signature = fold(accesses);
  check(accesses, signature);
  EXPECT_EQ(signature.patterns.size(), 1u);
  EXPECT_EQ(signature.parts.size(), 500u);
  EXPECT_EQ(signature.coverage(), 1.0);
}

TEST(PatternFold, RawAccessesTakeFewBytes) {
  std::mt19937_64 random(11);
  AccessList accesses;
  for (int i = 0; i < 10'000; ++i) {
    accesses.push_back({static_cast<int64_t>(random() % (int64_t{1} << 32)), 4096, 0});
  }
  const Signature signature = fold(accesses);
  check(accesses, signature);
  EXPECT_EQ(signature.covered, 0u);
  EXPECT_LT(signature.memory_bytes(), 7 * accesses.size());
}

TEST(PatternFold, WhatPassesTheLimitIsLostAndCounted) {
  std::mt19937_64 random(11);
  AccessList accesses;
  for (int i = 0; i < 10'000; ++i) {
    accesses.push_back({static_cast<int64_t>(random() % (int64_t{1} << 32)), 4096, 0});
  }
  test::nest(accesses, {{1000, 8192}}, {0, 4096, 0});
  const Signature signature = fold(accesses, {.raw_bytes = 6000});
  EXPECT_EQ(signature.accesses, 11'000u);
  EXPECT_EQ(signature.covered, 1000u) << "patterns are kept";
  EXPECT_GT(signature.lost, 8500u);
  const AccessList kept = expanded(signature);
  ASSERT_EQ(kept.size(), signature.accesses - signature.lost);
  const uint64_t before = kept.size() - 1000;
  for (uint64_t i = 0; i < before; ++i) ASSERT_EQ(kept[i], accesses[i]);
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_EQ(kept[before + i], accesses[10'000 + i]);
  Cursor cursor(signature, 5000);
  Access access;
  ASSERT_TRUE(cursor.next(access));
  EXPECT_EQ(access, accesses[10'000]);
  EXPECT_EQ(cursor.index(), 10'001u);
  const AccessColumns columns = expand(signature, 5000, 3);
  ASSERT_EQ(columns.offset.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ((Access{columns.offset[i], columns.size[i], columns.operation[i]}),
              accesses[10'000 + i]);
  EXPECT_EQ(expand(signature).size.size(), kept.size());

  AccessList many;
  for (int64_t i = 0; i < 5000; ++i) {
    test::nest(many, {{4, 100 + i}}, {static_cast<int64_t>(random() % (1 << 30)), 10, 0});
  }
  const Signature bounded = fold(many, {.pattern_bytes = 10'000});
  EXPECT_EQ(bounded.accesses, 20'000u);
  EXPECT_GT(bounded.lost, 15'000u);
  EXPECT_EQ(bounded.accesses - bounded.lost, expanded(bounded).size());
  EXPECT_LT(bounded.memory_bytes(), 20'000u);
}

TEST(PatternFold, PredictsWhatComes) {
  const AccessList accesses = records(40);
  Folder folder;
  std::size_t predicted = 0;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (folder.loop() && i >= 3 * accesses.size() / 40) {
      ++predicted;
      Walk ahead = folder.ahead();
      for (std::size_t j = i; j < accesses.size(); ++j, ahead.advance()) {
        ASSERT_FALSE(ahead.done());
        ASSERT_EQ(ahead.access(), accesses[j]);
      }
    }
    folder.add(accesses[i]);
  }
  EXPECT_GE(predicted, accesses.size() - 4 * accesses.size() / 40);
}

TEST(PatternFold, AWalkAheadIsGoodForAsLongAsTheGeneration) {
  Folder folder;
  EXPECT_FALSE(folder.loop());
  EXPECT_TRUE(folder.ahead().done());
  for (int64_t i = 0; i < 5; ++i) folder.add({i * 100, 10, 0});
  ASSERT_TRUE(folder.loop());
  const uint64_t generation = folder.generation();
  Walk ahead = folder.ahead();
  for (int64_t i = 5; i < 1000; ++i, ahead.advance()) {
    ASSERT_EQ(ahead.access(), (Access{i * 100, 10, 0}));
    folder.add(ahead.access());
    ASSERT_EQ(folder.generation(), generation);
  }
  folder.add({77, 10, 0});
  EXPECT_NE(folder.generation(), generation);
}

TEST(PatternFold, AFolderIsAsNewAfterItsEnd) {
  const AccessList accesses = records(20);
  Folder folder;
  for (int round = 0; round < 2; ++round) {
    for (const Access& access : accesses) folder.add(access);
    const Signature signature = folder.finish();
    check(accesses, signature);
    EXPECT_EQ(signature.parts.size(), 1u);
  }
  EXPECT_EQ(folder.finish().accesses, 0u);
}

TEST(PatternFold, IntervalsAreThoseOfEachLoop) {
  // Rows of 10 accesses every 100 ns; a row begins every 5000 ns.
  Folder folder;
  for (int64_t row = 0; row < 50; ++row) {
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t start = 1'000'000 + row * 5000 + i * 100;
      folder.add({row * 1'000'000 + i * 512, 64, 0}, start, start + 40);
    }
  }
  const Signature signature = folder.finish();
  ASSERT_EQ(signature.parts.size(), 1u);
  EXPECT_EQ(signature.parts[0].start_ns, 1'000'000);
  EXPECT_EQ(signature.parts[0].end_ns, 1'000'000 + 49 * 5000 + 900 + 40);
  const Pattern& rows = signature.patterns[0];
  EXPECT_EQ(rows.intervals.count, 49u);
  EXPECT_EQ(rows.intervals.mean_ns(), 5000);
  EXPECT_EQ(rows.intervals.deviation_ns(), 0);
  const Intervals& within = rows.body[0].intervals;
  EXPECT_EQ(within.count, 50u * 9);
  EXPECT_EQ(within.least_ns, 100);
  EXPECT_EQ(within.most_ns, 100);
  EXPECT_TRUE(within.fixed());
}

TEST(PatternFold, IntervalsOfThreeLoops) {
  // Planes of 6 rows of 4 pairs: a pair takes 100 ns, a row begins every 1000 ns, a plane every
  // 9000 ns.
  Folder folder;
  for (int64_t plane = 0; plane < 8; ++plane) {
    for (int64_t row_of_plane = 0; row_of_plane < 6; ++row_of_plane) {
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t start = plane * 9000 + row_of_plane * 1000 + i * 100;
        const int64_t offset = plane * 1'000'000 + row_of_plane * 50'000 + i * 512;
        folder.add({offset, 64, 0}, start, start + 10);
        folder.add({offset + 100, 64, 0}, start + 50, start + 60);
      }
      folder.add({7, 7, 1}, plane * 9000 + row_of_plane * 1000 + 500, 0);
    }
    folder.add({8, 8, 1}, plane * 9000 + 7000, 0);
  }
  const Signature signature = folder.finish();
  ASSERT_EQ(signature.parts.size(), 1u);
  const Pattern* loop = &signature.patterns[0];
  for (const int64_t interval : {9000, 1000, 100}) {
    EXPECT_EQ(loop->intervals.least_ns, interval);
    EXPECT_EQ(loop->intervals.most_ns, interval);
    loop = &loop->body.front();
  }
}

// The first phase expects the header with which the second phase begins.
TEST(PatternFold, APartBeginsWithItsFirstAccess) {
  Folder folder;
  int64_t now_ns = 0;
  for (int64_t phase = 0; phase < 2; ++phase) {
    for (int64_t i = 0; i < 10; ++i) {
      folder.add({0, 16, 0}, now_ns, now_ns + 10);
      folder.add({phase * 1'000'000 + i * 64, 64, 0}, now_ns + 50, now_ns + 60);
      now_ns += 100;
    }
  }
  const Signature signature = folder.finish();
  ASSERT_EQ(signature.parts.size(), 2u);
  EXPECT_EQ(signature.parts[1].first, 20u);
  EXPECT_EQ(signature.parts[1].start_ns, 1000);
  EXPECT_EQ(signature.parts[1].end_ns, 1960);
}

TEST(PatternFold, IntervalsAddUp) {
  std::mt19937_64 random(5);
  std::vector<int64_t> values;
  Intervals left;
  Intervals right;
  for (int i = 0; i < 1000; ++i) {
    values.push_back(static_cast<int64_t>(random() % 1000) + (i < 300 ? 1'000'000'000'000 : 50));
    (i < 300 ? left : right).add(values.back());
  }
  left.add(right);
  double mean = 0;
  for (const int64_t value : values) mean += static_cast<double>(value) / 1000;
  double squares = 0;
  for (const int64_t value : values) squares += std::pow(static_cast<double>(value) - mean, 2);
  EXPECT_EQ(left.count, 1000u);
  EXPECT_NEAR(left.mean_ns() / mean, 1, 1e-12);
  EXPECT_NEAR(left.deviation_ns() / std::sqrt(squares / 1000), 1, 1e-9);
  EXPECT_FALSE(left.fixed());
}

}  // namespace
}  // namespace forebay::pattern
