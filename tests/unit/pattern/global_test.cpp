// Global signatures: one pattern for all ranks, its place in each rank, its bytes.
#include "pattern/global.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "pattern/streams.h"
#include "trace/routine.h"
#include "trace/table.h"
#include "unit/pattern/program.h"

namespace forebay::pattern {
namespace {

using test::AccessList;
using test::nest;
using test::operations;

constexpr int64_t block = 4096;

// Merges the signatures of `accesses(rank)` for these ranks.
GlobalSignature merged(const std::vector<uint32_t>& ranks,
                       const std::function<AccessList(uint32_t)>& accesses) {
  std::vector<Signature> signatures;
  for (const uint32_t rank : ranks) signatures.push_back(test::fold(accesses(rank)));
  std::vector<LocalSignature> locals;
  for (std::size_t i = 0; i < ranks.size(); ++i) locals.push_back({ranks[i], &signatures[i]});
  return merge(locals);
}

std::vector<uint32_t> ranks_to(uint32_t count) {
  std::vector<uint32_t> ranks(count);
  for (uint32_t i = 0; i < count; ++i) ranks[i] = i;
  return ranks;
}

std::vector<std::string> lines_of(const GlobalSignature& job, int64_t zero_ns = 0) {
  std::vector<std::string> lines;
  for (const Line& line : global_signature(job, operations, block, zero_ns))
    lines.push_back(line.text);
  return lines;
}

std::string space(const GlobalPattern& pattern) {
  return std::string(name_of(pattern.spatial)) + " " + std::to_string(pattern.dimension) +
         (pattern.overlapping ? " overlapping" : "");
}

// Each rank has two threads, which read the halves of its part, and whose numbers are random.
TEST(PatternGlobal, ThreadsOfRanksAreLikeEachOther) {
  constexpr int64_t half = 100 * block;
  std::vector<Signature> signatures;
  std::vector<LocalSignature> locals;
  for (uint32_t rank = 0; rank < 5; ++rank) {
    for (uint32_t thread = 0; thread < 2; ++thread) {
      const int64_t begin = (2 * rank + (thread + rank) % 2) * half;
      AccessList accesses = nest({{100, block}}, {begin, block, 0});
      accesses.push_back({int64_t{1} << 30, block, 1});  // once; the same in all threads
      accesses.push_back({(int64_t{1} << 31) + begin, 7, 1});
      signatures.push_back(test::fold(accesses));
    }
  }
  // The order is not that of the ranks.
  for (std::size_t i = signatures.size(); i-- > 0;)
    locals.push_back({static_cast<uint32_t>(i / 2), &signatures[i]});
  const GlobalSignature job = merge(locals);
  EXPECT_EQ(job.processes, 5u);
  EXPECT_EQ(job.ranks, (std::vector<RankRange>{{0, 4, 1}}));
  EXPECT_EQ(job.accesses, 1020u);
  EXPECT_EQ(job.covered, job.accesses);
  std::set<std::string> bases;
  for (const GlobalPattern& pattern : job.patterns) {
    EXPECT_EQ(pattern.processes, 5u);
    if (pattern.pattern.accesses() == 100) bases.insert(notation(pattern.base));
  }
  EXPECT_EQ(bases, (std::set<std::string>{"819200*rank + 0", "819200*rank + 409600"}));
}

TEST(PatternStreams, ColumnsGiveTheirReadsAndWrites) {
  const auto code = [](trace::Operation what) { return static_cast<uint8_t>(what); };
  const uint8_t read = code(trace::Operation::read), write = code(trace::Operation::write);
  const std::vector<uint32_t> process{4, 4, 4, 4, 4, 4}, thread(6);
  const std::vector<int32_t> file{1, 1, 1, 1, 1, 2};
  const std::vector<uint16_t> routine{1, 0, 1, 1, 1, 0};
  const std::vector<uint8_t> what{write, code(trace::Operation::seek), write, write, write, read};
  const std::vector<int64_t> offset{0, 0, -1, 50, 20, 7}, size{20, 20, 20, 0, 20, 9};
  const std::vector<int64_t> start_ns{5, 6, 7, 8, 9, trace::no_time}, end_ns(6, 10);
  const std::vector<uint8_t> folded{0, 0, 0, 0, 1, 0};
  Streams streams;
  EXPECT_EQ(
      streams.add({process, thread, file, routine, what, offset, size, start_ns, end_ns, folded}),
      1u)
      << "a write has no place";
  const std::vector<Stream> found = streams.finish();
  ASSERT_EQ(found.size(), 2u);
  const AccessColumns written = expand(found[0].signature);
  EXPECT_EQ(written.offset, (std::vector<int64_t>{0, 20}));
  EXPECT_EQ(written.size, (std::vector<int64_t>{20, 20}));
  EXPECT_EQ(written.operation, (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(found[0].signature.parts.front().start_ns, 5);
  EXPECT_EQ(found[0].signature.parts.front().end_ns, unknown_time) << "its last time is folded";
  EXPECT_EQ(expand(found[1].signature).offset, (std::vector<int64_t>{7}));
  EXPECT_EQ(found[1].signature.parts.front().start_ns, unknown_time);
}

// The accesses of the threads are interleaved at random.
TEST(PatternStreams, ThreadsOfOneProcessAreTwoPatterns) {
  std::mt19937 random(1);
  Streams streams;
  std::array<int64_t, 2> next{0, 500 * block};
  for (int i = 0; i < 1000;) {
    const uint32_t thread = random() % 2;
    if (next[thread] == (thread + 1) * 500 * block) continue;
    streams.of(7, thread, 3).add({next[thread], block, 0}, i, i + 1);
    next[thread] += block;
    ++i;
  }
  const std::vector<Stream> found = streams.finish();
  ASSERT_EQ(found.size(), 2u);
  std::vector<LocalSignature> locals;
  for (uint32_t thread = 0; thread < 2; ++thread) {
    EXPECT_EQ(found[thread].process, 7u);
    EXPECT_EQ(found[thread].thread, thread);
    EXPECT_EQ(found[thread].file, 3);
    EXPECT_EQ(found[thread].signature.parts.size(), 1u);
    EXPECT_EQ(found[thread].signature.covered, 500u);
    locals.push_back({7, &found[thread].signature});
  }
  const GlobalSignature job = merge(locals);
  EXPECT_EQ(job.processes, 1u);
  EXPECT_EQ(job.covered, 1000u);
  ASSERT_EQ(job.patterns.size(), 2u);
  for (const GlobalPattern& pattern : job.patterns) EXPECT_EQ(space(pattern), "contiguous 1");
}

// Yin, figure 4: each of four processes is strided, the job is contiguous.
TEST(PatternGlobal, StridedLocallyContiguousGlobally) {
  const GlobalSignature job = merged(ranks_to(4), [](uint32_t rank) {
    return nest({{100, 4 * block}}, {rank * block, block, 0});
  });
  ASSERT_EQ(job.patterns.size(), 1u);
  EXPECT_EQ(job.processes, 4u);
  EXPECT_EQ(job.patterns[0].ranks, (std::vector<RankRange>{{0, 3, 1}}));
  EXPECT_EQ(notation(job.patterns[0].base), "4096*rank + 0");
  EXPECT_EQ(classify(job.patterns[0].pattern, operations, block).spatial, Spatial::fixed_stride);
  EXPECT_EQ(space(job.patterns[0]), "contiguous 1");
  EXPECT_EQ(job.covered, job.accesses);
  EXPECT_EQ(lines_of(job),
            (std::vector<std::string>{
                "{4, <contiguous, 1>, [0-3], 4096*rank + 0, unknown, unknown, "
                "{read, <fixed stride, 1>, <repeated 100>, <medium, fixed>, <unknown>}}"}));
}

// A block of a two-dimensional array for each rank of a grid.
TEST(PatternGlobal, ProcessGrid) {
  constexpr int64_t width = 3;  // ranks in a row of the grid
  constexpr int64_t columns = 8;
  constexpr int64_t rows = 10;
  constexpr int64_t line = width * columns * 64;  // bytes
  const GlobalSignature job = merged(ranks_to(12), [](uint32_t rank) {
    return nest({{rows, line}, {columns, 64}},
                {500 + rank % width * columns * 64 + rank / width * rows * line, 64, 1});
  });
  ASSERT_EQ(job.patterns.size(), 1u);
  const Base& base = job.patterns[0].base;
  EXPECT_EQ(base.width, width);
  EXPECT_EQ(notation(base), "512*(rank mod 3) + 15360*(rank div 3) + 500");
  EXPECT_EQ(space(job.patterns[0]), "contiguous 1");
}

TEST(PatternGlobal, BytesOfTheJob) {
  const auto of = [](uint32_t processes, const std::function<AccessList(uint32_t)>& accesses) {
    const GlobalSignature job = merged(ranks_to(processes), accesses);
    EXPECT_EQ(job.patterns.size(), 1u);
    return space(job.patterns[0]);
  };
  EXPECT_EQ(of(4,
               [](uint32_t) {
                 return nest({{9, 100}}, {0, 100, 0});
               }),
            "contiguous 1 overlapping")
      << "all read the same";
  EXPECT_EQ(of(4,
               [](uint32_t rank) {
                 return nest({{9, 800}}, {rank * 100, 100, 0});
               }),
            "fixed stride 1")
      << "four blocks that touch, and a hole";
  EXPECT_EQ(of(4,
               [](uint32_t rank) {
                 return nest({{9, 8000}}, {rank * 200, 100, 0});
               }),
            "nested strided 2");
  EXPECT_EQ(of(4,
               [](uint32_t rank) {
                 return nest({{9, 800}}, {rank * 200, 100, 0});
               }),
            "fixed stride 1");
  EXPECT_EQ(of(4,
               [](uint32_t rank) {
                 return nest({{9, 400}}, {rank * 100, 150, 0});
               }),
            "contiguous 1 overlapping");
  EXPECT_EQ(of(4,
               [](uint32_t rank) {
                 return nest({{9, -400}}, {10'000 + rank * 100, 100, 0});
               }),
            "contiguous 1")
      << "backward";
  EXPECT_EQ(of(8,
               [](uint32_t rank) {
                 return AccessList{{rank * 100, 100, 1}};
               }),
            "contiguous 1")
      << "one access each";
  EXPECT_EQ(of(8,
               [](uint32_t rank) {
                 return nest({{5, 8000}}, {rank * 1000, 100, 1});
               }),
            "fixed stride 1");
}

// Checks that every pattern of every rank is in exactly one global pattern, at the right place.
void check(const GlobalSignature& job, const std::vector<uint32_t>& ranks,
           const std::function<AccessList(uint32_t)>& accesses) {
  std::map<uint32_t, std::multiset<std::pair<int64_t, int64_t>>> found;
  for (const GlobalPattern& pattern : job.patterns) {
    const std::vector<GlobalPattern::Start> starts = pattern.starts();
    EXPECT_EQ(starts.size(), pattern.processes);
    for (const GlobalPattern::Start& start : starts) {
      for (Walk walk(pattern.pattern); !walk.done(); walk.advance()) {
        found[start.rank].insert({plus(walk.access().offset, start.offset), walk.access().size});
      }
    }
  }
  for (const uint32_t rank : ranks) {
    std::multiset<std::pair<int64_t, int64_t>> expected;
    for (const Access& access : accesses(rank)) expected.insert({access.offset, access.size});
    EXPECT_EQ(found[rank], expected) << "rank " << rank;
  }
}

TEST(PatternGlobal, KeepsWhatEachRankDid) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < 40; ++rank) {
      if (random() % 4 != 0) ranks.push_back(rank);
    }
    const auto a = static_cast<int64_t>(random() % 5) * 700;
    const auto c = static_cast<int64_t>(random() % 5) * 9000;
    const uint32_t width = 1 + static_cast<uint32_t>(random() % 9);
    const uint64_t special = random() % 60;
    const auto accesses = [&](uint32_t rank) {
      AccessList all{{rank * 8, 8, 0}};
      const int64_t begin = a * (rank % width) + c * (rank / width);
      test::nest(all, {{4, 100'000}, {5, 300}}, {begin, 200, 1});
      if (rank == special) all.push_back({123, 45, 0});
      if (seed % 3 == 0) all.push_back({static_cast<int64_t>((seed + rank) * 7919 % 1000), 5, 1});
      return all;
    };
    check(merged(ranks, accesses), ranks, accesses);
  }
}

TEST(PatternGlobal, OneRankThatDoesMoreKeepsTheOthersTogether) {
  const auto accesses = [](uint32_t rank) {
    AccessList all;
    if (rank == 0) all = {{0, 96, 1}, {96, 500, 1}};
    test::nest(all, {{50, 64 * block}}, {1'000'000 + rank * block, block, 1});
    return all;
  };
  const GlobalSignature job = merged(ranks_to(64), accesses);
  ASSERT_EQ(job.patterns.size(), 2u) << "what rank 0 alone did is one run";
  uint32_t most = 0;
  for (const GlobalPattern& pattern : job.patterns) most = std::max(most, pattern.processes);
  EXPECT_EQ(most, 64u);
  check(job, ranks_to(64), accesses);
}

TEST(PatternGlobal, ARankOutOfLineStandsAlone) {
  const auto accesses = [](uint32_t rank) {
    return nest({{50, 1 << 20}}, {rank == 0 ? 77'777 : rank * 1000, 10, 1});
  };
  const GlobalSignature job = merged(ranks_to(32), accesses);
  ASSERT_EQ(job.patterns.size(), 2u);
  EXPECT_EQ(std::max(job.patterns[0].processes, job.patterns[1].processes), 31u);
  check(job, ranks_to(32), accesses);
}

// As a library of file formats writes: no rule within a rank, but the same accesses in all ranks.
TEST(PatternGlobal, ARunWithoutARuleMayBeThatOfAllRanks) {
  const auto accesses = [](uint32_t rank) {
    std::mt19937_64 random(5);
    AccessList all;
    const int64_t begin = rank * int64_t{1000} + rank / 7 * (rank / 7) * 33;
    for (int i = 0; i < 20; ++i) {
      all.push_back({begin + i * 1'000'000 + static_cast<int64_t>(random() % 5000), 1000, 1});
    }
    if (rank == 30) all.push_back({5, 5, 1});
    return all;
  };
  const GlobalSignature job = merged(ranks_to(35), accesses);
  check(job, ranks_to(35), accesses);
  ASSERT_EQ(job.patterns.size(), 5u) << testing::PrintToString(lines_of(job));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(job.patterns[i].pattern.body.size(), 20u);
    EXPECT_EQ(job.patterns[i].processes, i < 3 ? 7u : 14u) << "two rows are a grid";
    EXPECT_EQ(space(job.patterns[i]), "random 0");
  }
  EXPECT_EQ(notation(job.patterns[3].base),
            "1000*((rank - 21) mod 7) + 7231*((rank - 21) div 7) + 24639");
  EXPECT_EQ(job.patterns[4].processes, 1u);
}

TEST(PatternGlobal, ARunHasTheOrderOfTheFirstRank) {
  const GlobalSignature job = merged({1, 0, 2}, [](uint32_t rank) {
    const Access a{rank * 1000, 10, 1};
    const Access b{rank * 1000 + 500, 20, 1};
    return rank == 1 ? AccessList{b, a} : AccessList{a, b};
  });
  ASSERT_EQ(job.patterns.size(), 1u);
  EXPECT_EQ(job.patterns[0].pattern.body[0].size, 10);
  EXPECT_EQ(job.patterns[0].base.begin, 0);
}

TEST(PatternGlobal, RanksInTheHolesOfOthersDoNotOverlap) {
  const GlobalSignature job = merged(ranks_to(2), [](uint32_t rank) {
    return nest({{4, 300}}, {rank * 700, 64, 0});
  });
  ASSERT_EQ(job.patterns.size(), 1u);
  EXPECT_EQ(space(job.patterns[0]), "combination 1");
}

TEST(PatternGlobal, WhatOneRankDidKeepsItsClass) {
  const GlobalSignature job = merged({5}, [](uint32_t) {
    AccessList all;
    for (int64_t i = 0; i < 20; ++i) all.push_back({i * 1000, 100 + i, 0});
    return all;
  });
  ASSERT_EQ(job.patterns.size(), 1u);
  EXPECT_EQ(space(job.patterns[0]), "fixed stride 1");
}

TEST(PatternGlobal, ARunThatTouches) {
  const GlobalSignature job = merged(ranks_to(4), [](uint32_t rank) {
    const int64_t begin = rank * 743;
    return AccessList{{begin, 10, 1}, {begin + 10, 700, 1}, {begin + 710, 33, 1}};
  });
  ASSERT_EQ(job.patterns.size(), 1u);
  EXPECT_EQ(classify(job.patterns[0].pattern, operations, block).spatial, Spatial::contiguous);
  EXPECT_EQ(space(job.patterns[0]), "contiguous 1");
}

TEST(PatternGlobal, ThreePlacesAreNoGrid) {
  const auto accesses = [](uint32_t rank) {
    return nest({{50, 1 << 20}}, {std::array<int64_t, 3>{0, 777, 50}[rank], 10, 1});
  };
  const GlobalSignature job = merged(ranks_to(3), accesses);
  ASSERT_EQ(job.patterns.size(), 1u);
  EXPECT_EQ(job.patterns[0].own_starts, (std::vector<int64_t>{0, 777, 50}));
  check(job, ranks_to(3), accesses);
}

// Starts without a rule from rank to rank.
int64_t irregular(uint32_t rank) {
  std::mt19937_64 random(rank + 1);
  return rank * int64_t{1'000'000'000} + static_cast<int64_t>(random() % 900'000'000);
}

TEST(PatternGlobal, RanksWithStartsOfTheirOwnAreOnePattern) {
  const auto accesses = [](uint32_t rank) {
    return nest({{50, 1 << 20}}, {irregular(rank), 4096, 1});
  };
  const GlobalSignature job = merged(ranks_to(64), accesses);
  check(job, ranks_to(64), accesses);
  ASSERT_EQ(job.patterns.size(), 1u);
  EXPECT_EQ(job.patterns[0].processes, 64u);
  EXPECT_EQ(job.covered, job.accesses);
  EXPECT_EQ(lines_of(job),
            (std::vector<std::string>{
                "{64, <combination, 1>, [0-63], own starts " + std::to_string(irregular(0)) +
                " to " + std::to_string(irregular(63)) +
                ", unknown, unknown, "
                "{write, <fixed stride, 1>, <repeated 50>, <medium, fixed>, <unknown>}}"}));
}

// Any two ranks are in a line.
TEST(PatternGlobal, TwoRanksOfManyShowNoRule) {
  const auto accesses = [](uint32_t rank) {
    return nest({{50, 1 << 20}}, {irregular(rank), 100 + rank / 2, 1});
  };
  const GlobalSignature job = merged(ranks_to(64), accesses);
  check(job, ranks_to(64), accesses);
  EXPECT_EQ(job.patterns.size(), 32u);
  const std::vector<std::string> lines = lines_of(job);
  ASSERT_EQ(lines.size(), 1u) << "of what they have in common";
  EXPECT_NE(lines[0].find("{64, <combination, 1>, [0-63], own starts"), std::string::npos);
  EXPECT_NE(lines[0].find("<fixed stride, 1>, <repeated 50>, <small, variable>"),
            std::string::npos);
  EXPECT_EQ(notation(merged({0, 7}, accesses).patterns[0].ranks), "[0]") << "sizes differ";
  EXPECT_EQ(lines_of(merged({0, 1}, accesses)).size(), 1u);
  EXPECT_EQ(lines_of(merged({0, 1}, accesses))[0].find("own starts"), std::string::npos)
      << "all ranks of the job";
}

// Each rank's block has its own size and place, as in a partitioned mesh.
TEST(PatternGlobal, OneBlockARankOfItsOwnSize) {
  int64_t end = 0;
  std::vector<Access> blocks;
  for (uint32_t rank = 0; rank < 40; ++rank) {
    const int64_t size = 1000 + irregular(rank) % 777;
    blocks.push_back({end, size, 1});
    end += size;
  }
  const auto accesses = [&](uint32_t rank) { return AccessList{blocks[rank]}; };
  const GlobalSignature job = merged(ranks_to(40), accesses);
  check(job, ranks_to(40), accesses);
  EXPECT_EQ(
      lines_of(job),
      (std::vector<std::string>{"{40, <contiguous, 1>, [0-39], own starts 0 to " +
                                std::to_string(blocks.back().offset) +
                                ", unknown, unknown, "
                                "{write, <single, 0>, <single>, <small, variable>, <unknown>}}"}));
  EXPECT_EQ(job.covered, 0u) << "no rule tells where a block is";
}

// As a library of file formats aligns: lines of seven ranks, with something between them.
TEST(PatternGlobal, ManyRulesAreNone) {
  const auto accesses = [](uint32_t rank) {
    const int64_t begin = rank * int64_t{1000} + rank / 7 * (rank / 7) * 33;
    AccessList all;
    for (const int64_t part : {int64_t{0}, int64_t{3'333'333}, int64_t{9'000'001}})
      all.push_back({begin + part, 1000, 1});
    test::nest(all, {{50, 64 * block}}, {100'000'000 + begin, 10, 1});
    return all;
  };
  const GlobalSignature job = merged(ranks_to(70), accesses);
  check(job, ranks_to(70), accesses);
  ASSERT_EQ(job.patterns.size(), 2u) << testing::PrintToString(lines_of(job));
  for (const GlobalPattern& pattern : job.patterns) EXPECT_EQ(pattern.own_starts.size(), 70u);
  EXPECT_EQ(job.covered, job.accesses);
}

TEST(PatternGlobal, SeveralLoopsARankAreAsManyLines) {
  const auto accesses = [](uint32_t rank) {
    AccessList all;
    for (int64_t turn = 0; turn < 3; ++turn) {
      const int64_t begin = turn * turn * (int64_t{1} << 50) + irregular(rank);
      test::nest(all, {{20 + rank, 10'000}}, {begin, 100 + rank, 1});
    }
    return all;
  };
  const GlobalSignature job = merged(ranks_to(20), accesses);
  check(job, ranks_to(20), accesses);
  const std::vector<std::string> lines = lines_of(job);
  EXPECT_EQ(lines.size(), 3u) << testing::PrintToString(lines);
  for (const std::string& line : lines)
    EXPECT_NE(line.find("{write, <fixed stride, 1>, <repeated 20 to 39>"), std::string::npos);
}

// Damaged traces may name any rank.
TEST(PatternGlobal, RanksMayBeAnyNumber) {
  const std::vector<uint32_t> ranks{0, 77, std::numeric_limits<uint32_t>::max()};
  const auto accesses = [](uint32_t rank) {
    return nest({{20 + rank % 7, 10'000}}, {irregular(rank), 100, 1});
  };
  const GlobalSignature job = merged(ranks, accesses);
  EXPECT_EQ(lines_of(job).size(), 1u) << testing::PrintToString(lines_of(job));
}

TEST(PatternGlobal, TimesAreSecondsAfterTheZeroGiven) {
  Folder folder;
  for (int64_t i = 0; i < 9; ++i)
    folder.add({i * 100, 100, 0}, 5'000'000'000 + i * 1'000'000, 5'000'500'000 + i * 1'000'000);
  const Signature signature = folder.finish();
  const std::array<LocalSignature, 1> locals{{{0, &signature}}};
  const std::string line = lines_of(merge(locals), 4'750'000'000)[0];
  EXPECT_NE(line.find(", 0.250000, 0.258500, "), std::string::npos) << line;
}

TEST(PatternGlobal, EveryFourthRank) {
  const std::vector<uint32_t> ranks{2, 6, 10, 14, 18};
  const auto accesses = [](uint32_t rank) {
    return nest({{50, 500}}, {(rank - 2) / 4 * 101, 10, 1});
  };
  const GlobalSignature job = merged(ranks, accesses);
  ASSERT_EQ(job.patterns.size(), 1u);
  EXPECT_EQ(notation(job.ranks), "[2-18/4]");
  EXPECT_EQ(notation(job.patterns[0].base), "101*((rank - 2)/4) + 0");
  check(job, ranks, accesses);
}

TEST(PatternGlobal, Ranges) {
  const std::vector<uint32_t> ranks{0, 1, 2, 3, 7, 20, 24, 28, 40, 90};
  EXPECT_EQ(notation(ranges_of(ranks)), "[0-3, 7, 20-28/4, 40, 90]");
}

TEST(PatternGlobal, RandomRanksAreCountedOnly) {
  const GlobalSignature job = merged(ranks_to(3), [](uint32_t rank) {
    std::mt19937_64 random(rank);
    AccessList all;
    for (int i = 0; i < 5000; ++i) all.push_back({static_cast<int64_t>(random() >> 10), 8, 0});
    return all;
  });
  EXPECT_EQ(job.unmerged, 15'000u);
  EXPECT_TRUE(job.patterns.empty());
}

}  // namespace
}  // namespace forebay::pattern
