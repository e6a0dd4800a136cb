// A job's log with more processes: equal to the log that the larger job would have made.
#include "sim/more_processes.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "trace/views.h"

namespace forebay::sim {
namespace {

// A log that grows access by access; each process has one handle for each file.
class LogMaker {
 public:
  void write(uint32_t process, uint32_t file, int64_t offset, int64_t bytes) {
    add(process, file, {{offset, bytes}}, true, independent);
  }
  void read(uint32_t process, uint32_t file, int64_t offset, int64_t bytes) {
    add(process, file, {{offset, bytes}}, false, independent);
  }
  void add(uint32_t process, uint32_t file, std::vector<Extent> runs, bool writes, uint32_t group) {
    DataAccess access;
    access.start_ns = access.end_ns = ++time_;
    access.process = process;
    access.file = file;
    access.handle = process * 16 + file;
    access.group = group;
    access.writes = writes;
    access.offset = runs.front().offset;
    access.end = runs.back().end();
    std::vector<int64_t> places, lengths;
    for (const Extent run : runs) {
      access.bytes += run.length;
      places.push_back(run.offset - access.offset);
      lengths.push_back(run.length);
    }
    if (runs.size() > 1) {
      access.view = static_cast<int32_t>(views_.size());
      views_.push_back({Layout::indexed(places, lengths, 1, Layout::block(1)), access.offset,
                        access.end - access.offset});
    }
    accesses_.push_back(access);
  }
  AccessLog log(std::vector<uint32_t> group_ranks = {}) const {
    AccessLog log(accesses_.size());
    log.set_views(views_);
    log.set_group_ranks(std::move(group_ranks));
    for (const DataAccess& access : accesses_) EXPECT_TRUE(log.add(access));
    return log;
  }

 private:
  int64_t time_ = 0;
  std::vector<DataAccess> accesses_;
  std::vector<Tiling> views_;
};

// What each process does with each file, in words.
using Story = std::map<std::pair<uint32_t, uint32_t>, std::string>;

Story story_of(const AccessLog& log) {
  Story story;
  for (const DataAccess& access : log.accesses()) {
    EXPECT_TRUE(log.has_place(access));
    std::string& words = story[{access.process, access.file}];
    words += access.writes ? " w" : " r";
    if (access.group != independent) {
      words.append(" of ").append(std::to_string(log.ranks_of_group(access.group)));
    }
    if (access.view == no_view) {
      words += " " + std::to_string(access.offset) + "+" + std::to_string(access.bytes);
      continue;
    }
    trace::Runs runs(log.view(access.view), access.position, access.bytes);
    Extent run;
    while (runs.next(run))
      words += " " + std::to_string(run.offset) + "+" + std::to_string(run.length);
  }
  return story;
}

MoreProcesses extended(const AccessLog& log, uint32_t processes) {
  std::optional<MoreProcesses> made = more_processes(log, processes, 1 << 20);
  EXPECT_TRUE(made.has_value());
  return std::move(*made);
}

TEST(MoreProcesses, InterleavedRecordsAreAsThoseOfALargerJob) {
  const auto job = [](uint32_t processes) {
    LogMaker maker;
    for (int64_t i = 0; i < 5; ++i) {
      for (uint32_t p = 0; p < processes; ++p) maker.write(p, 0, (i * processes + p) * 300, 300);
    }
    return maker.log();
  };
  const MoreProcesses made = extended(job(3), 7);
  EXPECT_EQ(made.shared, 1u);
  EXPECT_TRUE(made.left.empty());
  EXPECT_EQ(made.log.processes(), 7u);
  EXPECT_EQ(story_of(made.log), story_of(job(7)));
}

TEST(MoreProcesses, AHeaderOfOneProcessStaysAndTheRestMoves) {
  const auto job = [](uint32_t processes) {
    LogMaker maker;
    maker.write(0, 0, 0, 96);
    for (uint32_t p = 0; p < processes; ++p) maker.write(p, 0, 96 + p * 10, 10);
    for (uint32_t p = 0; p < processes; ++p) maker.write(p, 0, 96 + processes * 10 + p * 7, 7);
    maker.write(0, 0, 96 + processes * 17, 33);
    for (uint32_t p = 0; p < processes; ++p) maker.read(p, 0, 0, 96);
    return maker.log();
  };
  EXPECT_EQ(story_of(extended(job(4), 6).log), story_of(job(6)));
}

TEST(MoreProcesses, AReadOfTheWholeFileGrows) {
  const auto job = [](uint32_t processes) {
    LogMaker maker;
    for (uint32_t p = 0; p < processes; ++p) maker.write(p, 0, p * 100, 100);
    for (uint32_t p = 0; p < processes; ++p) maker.read(p, 0, 0, processes * 100);
    return maker.log();
  };
  EXPECT_EQ(story_of(extended(job(3), 9).log), story_of(job(9)));
}

// As IOR -C: each process reads what another wrote, and the last ones what the first wrote.
TEST(MoreProcesses, PartsOfOtherProcessesStayThatFarOn) {
  for (const uint32_t on : {1, 2, 3}) {
    const auto job = [on](uint32_t processes) {
      LogMaker maker;
      for (int64_t i = 0; i < 3; ++i) {
        for (uint32_t p = 0; p < processes; ++p) maker.write(p, 0, (i * processes + p) * 300, 300);
      }
      for (int64_t i = 0; i < 3; ++i) {
        for (uint32_t p = 0; p < processes; ++p)
          maker.read(p, 0, (i * processes + (p + on) % processes) * 300, 300);
      }
      return maker.log();
    };
    for (const uint32_t all : {5, 6, 11}) {
      const MoreProcesses made = extended(job(4), all);
      EXPECT_TRUE(made.left.empty());
      EXPECT_EQ(made.kept_accesses, 0u);
      EXPECT_EQ(story_of(made.log), story_of(job(all))) << on << " of " << all;
    }
  }
}

// As HDF5 writes: data by all, and metadata by whichever process it is given to, between.
TEST(MoreProcesses, CallsOfSomeProcessesStayWithThem) {
  const auto job = [](uint32_t processes) {
    LogMaker maker;
    for (int64_t array = 0; array < 3; ++array) {
      const int64_t begin = 2000 + array * (processes * 500 + 70);
      maker.write(static_cast<uint32_t>(array) % 3, 0, begin - 70, 40 + array);
      for (uint32_t p = 0; p < processes; ++p) maker.write(p, 0, begin + p * 500, 500);
      maker.read(2, 0, begin + 500, 500);
    }
    maker.write(1, 0, 0, 96);
    for (uint32_t p = 0; p < processes; ++p) maker.read(p, 0, 0, 512);
    return maker.log();
  };
  const MoreProcesses made = extended(job(4), 11);
  EXPECT_EQ(made.kept_accesses, 3u + 3u + 1u);
  EXPECT_EQ(made.kept_bytes, 40u + 41u + 42u + 3 * 500u + 96u);
  EXPECT_EQ(story_of(made.log), story_of(job(11)));
}

// As HDF5 writes chunks: metadata lies between those of some processes.
TEST(MoreProcesses, GapsBetweenProcessesStay) {
  const auto job = [](uint32_t processes) {
    LogMaker maker;
    for (uint32_t p = 0; p < processes; ++p)
      maker.write(p, 0, 50 + p * 1000 + (p >= 3 ? 70 : 0) + (p >= 7 ? 30 : 0), 1000);
    for (uint32_t p = 0; p < processes; ++p) maker.read(p, 0, 0, 50);
    maker.write(4, 0, 3050, 70);
    for (uint32_t p = 0; p < processes; ++p) maker.write(p, 0, 150 + processes * 1000 + p * 5, 5);
    return maker.log();
  };
  const MoreProcesses made = extended(job(12), 20);
  EXPECT_EQ(made.kept_accesses, 1u);
  EXPECT_EQ(story_of(made.log), story_of(job(20)));
}

TEST(MoreProcesses, AGridGetsMoreRows) {
  // Tiles of 4 lines of 50 bytes with an overlap of 10, 2 in a row.
  const auto job = [](uint32_t rows) {
    LogMaker maker;
    for (uint32_t p = 0; p < 2 * rows; ++p) {
      std::vector<Extent> lines;
      for (int64_t line = 0; line < 4; ++line)
        lines.push_back({(p / 2 * 3 + line) * 90 + p % 2 * 40, 50});
      maker.add(p, 0, lines, true, 0);
    }
    return maker.log({2 * rows});
  };
  for (const uint32_t rows : {2u, 3u}) {
    const MoreProcesses made = extended(job(rows), 10);
    EXPECT_EQ(made.shared, 1u);
    EXPECT_EQ(story_of(made.log), story_of(job(5)));
  }
  const MoreProcesses odd = extended(job(3), 9);
  ASSERT_EQ(odd.left.size(), 1u);
  EXPECT_NE(odd.left[0].why.find("rows"), std::string::npos);
}

TEST(MoreProcesses, EveryOtherProcessStaysEveryOther) {
  const auto job = [](uint32_t processes) {
    LogMaker maker;
    for (uint32_t p = 1; p < processes; p += 2) maker.write(p, 0, p / 2 * 64, 64);
    for (uint32_t p = 0; p < processes; ++p) maker.read(p, 1, p * 8, 8);
    return maker.log();
  };
  EXPECT_EQ(story_of(extended(job(6), 11).log), story_of(job(11)));
}

// The last process of the log makes one call more, so it counts for nothing; the parts of a further
// one touch what all of them read.
TEST(MoreProcesses, PiecesMayBecomeOne) {
  LogMaker maker;
  for (uint32_t p = 0; p < 4; ++p) {
    if (p == 3) maker.add(p, 0, {{3000, 50}, {5000, 60}}, true, independent);
    maker.add(p, 0, {{p * 100, 100}, {400, 10}}, true, independent);
  }
  const MoreProcesses made = extended(maker.log(), 6);
  EXPECT_EQ(made.shared, 1u);
  EXPECT_EQ(story_of(made.log).at({4, 0}), " w 400+100 600+10");
  EXPECT_EQ(story_of(made.log).at({5, 0}), " w 500+110");
}

TEST(MoreProcesses, OwnFilesAreCopied) {
  LogMaker maker;
  maker.write(0, 0, 0, 50);  // a log of process 0 alone
  for (uint32_t p = 0; p < 3; ++p) {
    maker.write(p, 1 + p, 0, 10);
    maker.read(p, 1 + p, 5, 5);
  }
  const AccessLog log = maker.log();
  const MoreProcesses made = extended(log, 5);
  EXPECT_EQ(made.first_own, 4u);
  ASSERT_EQ(made.own.size(), 2u);
  EXPECT_EQ(made.own[0].process, 3u);
  EXPECT_EQ(made.own[1].process, 4u);
  Story expected = story_of(log);
  expected[{3, 4}] = expected[{4, 5}] = " w 0+10 r 5+5";
  EXPECT_EQ(story_of(made.log), expected);
  // Each has a handle of its own.
  std::map<uint32_t, uint32_t> process_of;
  for (const DataAccess& access : made.log.accesses())
    EXPECT_EQ(process_of.try_emplace(access.handle, access.process).first->second, access.process);
}

TEST(MoreProcesses, OwnFilesThatDifferAreCopiedInTurn) {
  LogMaker maker;
  for (uint32_t p = 0; p < 3; ++p) maker.write(p, p, 0, 10 + p);
  const MoreProcesses made = extended(maker.log(), 7);
  std::vector<uint32_t> of;
  for (const auto& own : made.own) of.push_back(own.of);
  EXPECT_EQ(of, (std::vector<uint32_t>{0, 1, 2, 0}));
}

TEST(MoreProcesses, ACommunicatorOfOneStaysOfOne) {
  const auto job = [](uint32_t processes) {
    LogMaker maker;
    for (uint32_t p = 0; p < processes; ++p) maker.add(p, 0, {{p * 10, 10}}, true, p);
    return maker.log(std::vector<uint32_t>(processes, 1));
  };
  const MoreProcesses made = extended(job(2), 4);
  EXPECT_EQ(story_of(made.log), story_of(job(4)));
  EXPECT_NE(made.log.accesses()[2].group, made.log.accesses()[3].group);
}

// What follows no rule stays with its processes, and the reason is named.
TEST(MoreProcesses, WhatFollowsNoRuleStays) {
  const auto left = [](const LogMaker& maker, std::vector<uint32_t> groups = {}) {
    const AccessLog log = maker.log(std::move(groups));
    const MoreProcesses made = extended(log, log.processes() + 3);
    EXPECT_EQ(made.shared, 0u);
    EXPECT_EQ(story_of(made.log), story_of(log));
    return made.left.size() == 1 ? std::string(made.left[0].why) : "";
  };
  LogMaker uneven, some, differing, backwards, tangled, groups, huge;
  for (uint32_t p = 0; p < 4; ++p) uneven.write(p, 0, p * p * 100, 10);
  EXPECT_EQ(left(uneven), "the places of its processes follow no rule");
  for (uint32_t p = 0; p < 2; ++p) some.write(p, 0, p * 100, 100);
  some.write(5, 1, 0, 1);
  EXPECT_NE(left(some).find("only some processes use it"), std::string::npos);
  for (uint32_t p = 0; p < 4; ++p) differing.write(p, 0, p * 100, 10 + p);
  EXPECT_EQ(left(differing), "the places of its processes follow no rule");
  for (uint32_t p = 0; p < 4; ++p) backwards.write(p, 0, (3 - p) * 100, 100);
  EXPECT_EQ(left(backwards), "the places of its processes follow no rule");
  for (uint32_t p = 0; p < 4; ++p) {
    tangled.write(p, 0, p * 100, 10);
    tangled.write(p, 0, 110 + p * 1000, 10);
  }
  EXPECT_NE(left(tangled).find("between those of other accesses"), std::string::npos);
  for (uint32_t p = 0; p < 4; ++p) groups.add(p, 0, {{p * 100, 100}}, true, p / 2);
  EXPECT_EQ(left(groups, {2, 2}), "several groups of its processes opened it");
  for (uint32_t p = 0; p < 2; ++p) huge.write(p, 0, p * (int64_t{1} << 62), 10);
  EXPECT_EQ(left(huge), "it would be too large");
}

// A file of arrays, one after the other, each with the parts of all processes, which are as large
// as those of the first `known` in turn; some parts are written in blocks, some are empty, some are
// read again; process 0 writes headers between, and may read the whole file in the end.
AccessLog unequal_job(uint32_t seed, uint32_t known, uint32_t processes) {
  std::minstd_rand random(seed);
  const auto up_to = [&](uint32_t most) { return static_cast<int64_t>(1 + random() % most); };
  LogMaker maker;
  int64_t end = 0;
  const int64_t arrays = up_to(6);
  for (int64_t array = 0; array < arrays; ++array) {
    const bool header = random() % 2 == 0, reads = random() % 2 == 0, together = random() % 2 == 0;
    if (header) {
      const int64_t bytes = up_to(30);
      maker.write(0, 0, end, bytes);
      end += bytes;
    }
    std::vector<std::vector<int64_t>> blocks(known);
    for (uint32_t p = 0; p < known; ++p) {
      // A header before parts of several blocks could not be told from a block, nor a block of
      // process 0 from a header.
      if (array > 0 && !header && p % 2 == 1 && random() % 3 == 0) continue;
      const int64_t count = header || p == 0 ? 1 : up_to(4);
      for (int64_t block = 0; block < count; ++block) blocks[p].push_back(100 + up_to(900));
    }
    for (uint32_t p = 0; p < processes; ++p) {
      for (const int64_t bytes : blocks[p % known]) {
        maker.add(p, 0, {{end, bytes}}, true, together ? 0 : independent);
        if (reads) maker.read(p, 0, end, bytes);
        end += bytes;
      }
    }
    end += static_cast<int64_t>(random() % 2) * 50;
  }
  if (random() % 2 == 0) maker.read(0, 0, 0, end);
  return maker.log({processes});
}

TEST(MoreProcesses, UnequalPartsAreRepeatedInTurn) {
  uint32_t unequal = 0;
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    const uint32_t known = 4 + seed % 4, all = known + 1 + seed % 13;
    const MoreProcesses made = extended(unequal_job(seed, known, known), all);
    ASSERT_TRUE(made.left.empty()) << "seed " << seed << ": " << made.left[0].why;
    ASSERT_EQ(story_of(made.log), story_of(unequal_job(seed, known, all))) << "seed " << seed;
    unequal += made.unequal;
  }
  EXPECT_GT(unequal, 390u);
}

TEST(MoreProcesses, AccessesHaveALimit) {
  LogMaker maker;
  for (uint32_t p = 0; p < 2; ++p) maker.write(p, 0, p * 10, 10);
  EXPECT_FALSE(more_processes(maker.log(), 5, 4).has_value());
  EXPECT_TRUE(more_processes(maker.log(), 5, 5).has_value());
}

// A file of arrays one after the other, each with a part for each process; some are written in
// rounds, some in pieces through views, some are read again, by their process or by another;
// process 0 writes headers between.
AccessLog random_job(uint32_t seed, uint32_t processes) {
  std::minstd_rand random(seed);
  const auto up_to = [&](uint32_t most) { return static_cast<int64_t>(1 + random() % most); };
  LogMaker maker;
  int64_t end = 0;
  const int64_t arrays = up_to(6);
  for (int64_t array = 0; array < arrays; ++array) {
    if (random() % 3 == 0) {
      const int64_t header = up_to(500);
      maker.write(0, 0, end, header);
      end += header;
    }
    const int64_t piece = up_to(90), pieces = up_to(5), rounds = up_to(4);
    const bool view = random() % 2 == 0, reads = random() % 2 == 0, together = random() % 2 == 0;
    const uint32_t turn = random() % 2 == 0 ? 0 : 1 + random() % 2;  // as IOR's -C
    const uint32_t group = together ? 0 : independent;
    const int64_t begin = end, gap = random() % 2 == 0 ? 0 : up_to(20);
    end += rounds * (processes * pieces * piece + gap);
    for (const bool writes : {true, false}) {
      if (!writes && !reads) continue;
      for (int64_t round = 0; round < rounds; ++round) {
        for (uint32_t p = 0; p < processes; ++p) {
          const int64_t base = begin + round * (processes * pieces * piece + gap);
          std::vector<Extent> runs;
          const uint32_t part = writes ? p : (p + turn) % processes;
          for (int64_t i = 0; i < pieces; ++i) {
            const Extent run{base + (i * processes + part) * piece, piece};
            if (view)
              runs.push_back(run);
            else
              maker.add(p, 0, {run}, writes, group);
          }
          if (view) maker.add(p, 0, runs, writes, group);
        }
      }
    }
  }
  return maker.log({processes});
}

TEST(MoreProcesses, RandomJobsAreAsLargerOnes) {
  for (uint32_t seed = 1; seed <= 400; ++seed) {
    const uint32_t known = 3 + seed % 4, all = known + 1 + seed % 9;
    const MoreProcesses made = extended(random_job(seed, known), all);
    ASSERT_TRUE(made.left.empty()) << "seed " << seed << ": " << made.left[0].why;
    ASSERT_EQ(story_of(made.log), story_of(random_job(seed, all))) << "seed " << seed;
  }
}

}  // namespace
}  // namespace forebay::sim
