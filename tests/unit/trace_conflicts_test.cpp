// Conflicts of small jobs with known answers, and of random ones against every pair of accesses.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

#include "trace/conflicts.h"

namespace forebay::trace {
namespace {

constexpr uint64_t plenty = 1 << 20;

FileAccess write_of(uint32_t process, int64_t offset, int64_t end, int64_t at) {
  return {process, true, false, offset, end, at, at + 5};
}
FileAccess read_of(uint32_t process, int64_t offset, int64_t end, int64_t at) {
  return {process, false, false, offset, end, at, at + 5};
}
uint64_t count(const Conflicts& conflicts, Separation separation) {
  return conflicts.counts[static_cast<std::size_t>(separation)];
}

TEST(TraceConflicts, DisjointAccessesAndReadsHaveNone) {
  ConflictFinder finder(plenty);
  finder.access(write_of(0, 0, 10, 0));
  finder.access(write_of(1, 10, 20, 0));
  finder.access(read_of(2, 20, 30, 0));
  finder.access(read_of(3, 20, 30, 0));
  finder.access(write_of(0, 5, 10, 20));  // its own bytes
  EXPECT_EQ(finder.finish().counts, (std::array<uint64_t, separations>{}));
}

TEST(TraceConflicts, WhatKeepsAWriteAndAReadApartIsTold) {
  const auto separation = [](auto between) {
    ConflictFinder finder(plenty);
    finder.access(write_of(0, 0, 100, 0));
    between(finder);
    finder.access(read_of(1, 90, 120, 100));
    const Conflicts found = finder.finish();
    EXPECT_EQ(found.examples.size(), 1u);
    EXPECT_EQ(found.examples[0].offset, 90);
    EXPECT_EQ(found.examples[0].end, 100);
    EXPECT_EQ(found.bytes[static_cast<std::size_t>(found.examples[0].separation)], 10u);
    return found.examples[0].separation;
  };
  using F = ConflictFinder;
  EXPECT_EQ(separation([](F&) {}), Separation::order);
  EXPECT_EQ(separation([](F& f) { f.sync(0, 10, 20); }), Separation::order);
  EXPECT_EQ(separation([](F& f) { f.sync(1, 10, 20); }), Separation::order);
  // Both sync at once: nothing says that the second's came after the first's.
  EXPECT_EQ(separation([](F& f) { f.sync(0, 10, 20), f.sync(1, 10, 20); }), Separation::order);
  EXPECT_EQ(separation([](F& f) { f.sync(0, 10, 20), f.sync(1, 30, 40); }), Separation::synced);
  EXPECT_EQ(separation([](F& f) { f.sync(0, 10, 20), f.sync(1, 98, 102); }), Separation::order);
  EXPECT_EQ(separation([](F& f) { f.sync(0, 3, 20), f.sync(1, 30, 40); }), Separation::order);
  EXPECT_EQ(separation([](F& f) { f.close(0, 10, 20), f.sync(1, 30, 40); }), Separation::synced);
  EXPECT_EQ(separation([](F& f) { f.close(0, 10, 20), f.open(1, 30, 40); }), Separation::reopened);
  EXPECT_EQ(separation([](F& f) { f.close(0, 40, 50), f.open(1, 30, 40); }), Separation::order);
  EXPECT_EQ(separation([](F& f) {
              f.sync(0, 6, 7), f.close(0, 10, 20), f.sync(1, 21, 22), f.open(1, 30, 40);
            }),
            Separation::reopened);
}

TEST(TraceConflicts, AccessesThatOverlapInTimeAreNotApart) {
  ConflictFinder finder(plenty);
  finder.access(read_of(1, 0, 10, 0));
  finder.access(write_of(0, 5, 20, 3));
  finder.access(write_of(2, 15, 30, 8));  // begins as the one before ends
  const Conflicts found = finder.finish();
  EXPECT_EQ(count(found, Separation::none), 1u);
  EXPECT_EQ(count(found, Separation::order), 1u);
  EXPECT_EQ(found.bytes[0], 5u);
}

TEST(TraceConflicts, OnlyTheLastWriteOfAByteCounts) {
  ConflictFinder finder(plenty);
  finder.access(write_of(0, 0, 10, 0));
  finder.access(write_of(1, 0, 10, 10));
  finder.access(read_of(1, 0, 10, 20));  // what it wrote itself
  EXPECT_EQ(count(finder.finish(), Separation::order), 1u);
}

TEST(TraceConflicts, APairCountsOnceHoweverManyStretchesItMeetsIn) {
  ConflictFinder finder(plenty);
  for (int64_t i = 0; i < 10; ++i) finder.access(read_of(0, 20 * i, 20 * i + 10, i));
  finder.access(write_of(0, 0, 200, 50));
  finder.access(read_of(2, 30, 40, 60));
  finder.access(read_of(1, 0, 200, 100));
  const Conflicts found = finder.finish();
  EXPECT_EQ(count(found, Separation::order), 2u);
  EXPECT_EQ(found.bytes[1], 210u);
}

TEST(TraceConflicts, WithoutRoomAccessesAreLeftOutAndCounted) {
  ConflictFinder finder(2);
  for (uint32_t process = 0; process < 5; ++process)
    finder.access(write_of(process, 0, 10, 10 * process));
  const Conflicts found = finder.finish();
  EXPECT_EQ(found.accesses_left_out, 3u);
  EXPECT_EQ(count(found, Separation::order), 1u);
}

TEST(TraceConflicts, PartsPutTogetherAreTheWhole) {
  std::mt19937 draw(5);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(draw() % limit); };
  for (int job = 0; job < 300; ++job) {
    const auto most = static_cast<uint64_t>(1 + below(40));
    ConflictFinder whole(most), together(most);
    for (uint32_t process = 0; process < 4; ++process) {
      ConflictFinder part(most);
      part.open(process, process, process + 1);
      whole.open(process, process, process + 1);
      for (int64_t i = below(8); i > 0; --i) {
        FileAccess access = write_of(process, below(50), 50 + below(50), 10 * i);
        bool in_part = true, in_whole = true;
        for (int64_t run = 1 + below(3); run > 0; --run) {  // as who tells of them does
          in_part = in_part && part.access(access);
          in_whole = in_whole && whole.access(access);
          access.continued = true;
        }
      }
      Bytes bytes;
      ByteWriter writer(bytes);
      part.write(writer);
      ByteReader reader(bytes);
      ConflictFinder carried(most);
      ASSERT_TRUE(carried.read(reader));
      together.merge(std::move(carried));
    }
    const Conflicts expected = whole.finish(), found = together.finish();
    EXPECT_EQ(found.accesses_left_out, expected.accesses_left_out) << job;
    EXPECT_EQ(found.counts, expected.counts);
    EXPECT_EQ(found.bytes, expected.bytes);
    EXPECT_EQ(found.sharing.bytes, expected.sharing.bytes);
  }
}

// Byte by byte: for each access the last write before it, and whether an earlier read still runs.
TEST(TraceConflicts, RandomJobsAgainstEveryByte) {
  std::mt19937 draw(7);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(draw() % limit); };
  for (int job = 0; job < 300; ++job) {
    std::vector<FileAccess> accesses;
    for (int i = 0; i < 40; ++i) {
      const int64_t offset = below(60), start = 10 * i;
      accesses.push_back({static_cast<uint32_t>(below(3)), below(2) == 0, false, offset,
                          offset + 1 + below(20), start, start + 1 + below(25)});
    }
    uint64_t bytes[2] = {0, 0};  // of pairs that overlap in time, and of others
    std::set<std::pair<std::size_t, std::size_t>> pairs[2];
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      for (int64_t byte = accesses[i].offset; byte < accesses[i].end; ++byte) {
        std::size_t write = i, read = i;
        for (std::size_t k = 0; k < i; ++k) {
          if (byte < accesses[k].offset || byte >= accesses[k].end) continue;
          if (accesses[k].writes) {
            write = k;
            read = i;
          } else if (read == i || accesses[read].end_ns < accesses[k].end_ns) {
            read = k;
          }
        }
        const auto add = [&](std::size_t first) {
          if (first == i || accesses[first].process == accesses[i].process) return;
          const bool apart = accesses[first].end_ns <= accesses[i].start_ns;
          if (!accesses[first].writes && apart) return;
          ++bytes[apart];
          pairs[apart].insert({first, i});
        };
        add(write);
        if (accesses[i].writes) add(read);
      }
    }
    ConflictFinder finder(plenty);
    std::shuffle(accesses.begin(), accesses.end(), draw);
    for (const FileAccess& access : accesses) finder.access(access);
    const Conflicts found = finder.finish();
    EXPECT_EQ(found.bytes[0], bytes[0]);
    EXPECT_EQ(found.bytes[1], bytes[1]);
    // A pair that meets in stretches which another pair divides may count more than once.
    EXPECT_GE(found.counts[0], pairs[0].size());
    EXPECT_GE(found.counts[1], pairs[1].size());
    EXPECT_EQ(found.counts[1] > 0, !pairs[1].empty());
  }
}

}  // namespace
}  // namespace forebay::trace
