// Accesses as touches of pages: small jobs with answers computed by hand, and random jobs against a
// count byte by byte.
#include "sim/touches.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "sim/aggregation.h"

namespace forebay::sim {
namespace {

constexpr uint64_t most_touches = 1 << 20;
constexpr int64_t ten_bytes = 10;

using Pages = std::vector<std::pair<uint64_t, int64_t>>;  // file, counted from 0, and page

Pages pages_of(const std::vector<PageKey>& keys) {
  Pages pages;
  for (const PageKey key : keys) pages.emplace_back(key.file - 1, key.page);
  return pages;
}

Pages original(AccessLog& log, int64_t page_bytes = ten_bytes) {
  Shown shown;
  Progress progress;
  log.sort();
  EXPECT_TRUE(original_touches(log, page_bytes, {}, most_touches, shown, progress));
  EXPECT_EQ(progress.done, 2 * log.accesses().size());
  return pages_of(shown.keys);
}

Pages aggregated(AccessLog& log, const Aggregation& aggregation, int64_t page_bytes = ten_bytes) {
  Shown shown;
  Progress progress;
  log.sort();
  EXPECT_TRUE(aggregated_touches(log, page_bytes, Caches::never, aggregation, most_touches, shown,
                                 progress));
  EXPECT_EQ(progress.done, 2 * log.accesses().size());
  return pages_of(shown.keys);
}

DataAccess contiguous(uint32_t process, int64_t offset, int64_t end, int64_t at = 0,
                      uint32_t file = 0) {
  DataAccess access;
  access.start_ns = at;
  access.offset = offset;
  access.end = end;
  access.bytes = end - offset;
  access.file = file;
  access.process = process;
  access.handle = process;
  return access;
}

// An access through view 0 of the log.
DataAccess in_view(const Tiling& tiling, uint32_t process, int64_t position, int64_t bytes) {
  DataAccess access = contiguous(process, 0, 0);
  access.view = 0;
  access.position = position;
  access.bytes = bytes;
  access.offset = tiling.offset_of(position);
  access.end = tiling.offset_of(position + bytes - 1) + 1;
  return access;
}

DataAccess collective(DataAccess access, uint32_t group = 0) {
  access.group = group;
  return access;
}

TEST(SimTouches, AccessesTouchTheirPagesInTheOrderOfTheirStarts) {
  AccessLog log(most_touches);
  log.add(contiguous(0, 5, 25, 20));
  log.add(contiguous(1, 90, 100, 10));
  log.add(contiguous(1, 5, 6, 30, 1));
  EXPECT_EQ(original(log), (Pages{{0, 9}, {0, 0}, {0, 1}, {0, 2}, {1, 0}}));
}

TEST(SimTouches, ConsecutiveAccessesOfAHandleToAPageCountOnce) {
  AccessLog log(most_touches);
  log.add(contiguous(0, 0, 5, 0));
  log.add(contiguous(0, 5, 12, 1));   // continues on page 0
  log.add(contiguous(1, 15, 16, 2));  // another process
  log.add(contiguous(0, 13, 14, 3));  // still on page 1, for process 0
  log.add(contiguous(0, 0, 1, 4));    // back on page 0
  EXPECT_EQ(original(log), (Pages{{0, 0}, {0, 1}, {0, 1}, {0, 0}}));
}

TEST(SimTouches, NothingBetweenTheExtentsOfAnAccessIsTouched) {
  // 2 bytes of every 5, three times in 30 bytes: pages 0, 1, then 3.
  const Tiling tiling{Layout::repeat(3, 5, Layout::block(2)), 3, 30};
  AccessLog log(most_touches);
  log.set_views({tiling});
  log.add(in_view(tiling, 0, 0, 8));  // 3 4 8 9 13 14, then 33 34
  EXPECT_EQ(original(log), (Pages{{0, 0}, {0, 1}, {0, 3}}));
}

TEST(SimTouches, ManyExtentsOnAPageAreSkippedWithoutLosingOne) {
  const Tiling tiling{Layout::block(1), 0, 3};  // every third byte
  AccessLog log(most_touches);
  log.set_views({tiling});
  log.add(in_view(tiling, 0, 1, 1000));  // from byte 3 to byte 3000
  Pages all;
  for (int64_t i = 0; i <= 30; ++i) all.emplace_back(0, i);
  EXPECT_EQ(original(log, 100), all);
}

TEST(SimTouches, LongPiecesGoPastTheCache) {
  AccessLog log(most_touches);
  log.add(contiguous(0, 0, 30, 1));    // 3 pages
  log.add(contiguous(0, 30, 61, 2));   // past the cache; page 2 stays the last one
  log.add(contiguous(0, 20, 30, 3));   // page 2 again
  log.add(contiguous(0, 95, 100, 4));  // page 9
  Shown shown;
  Progress progress;
  ASSERT_TRUE(original_touches(log, ten_bytes, {{}, {31}}, most_touches, shown, progress));
  EXPECT_EQ(pages_of(shown.keys), (Pages{{0, 0}, {0, 1}, {0, 2}, {0, 9}}));
  EXPECT_EQ(shown.past_accesses, 1U);
  EXPECT_EQ(shown.past_bytes, 31U);
  EXPECT_EQ(shown.accesses, (std::vector<uint64_t>{4}));
  // A piece on the page of the touch before is served there.
  ASSERT_TRUE(original_touches(log, 1000, {{}, {30}}, most_touches, shown, progress));
  EXPECT_EQ(pages_of(shown.keys), (Pages{{0, 0}}));
  EXPECT_EQ(shown.past_bytes, 61U);
}

TEST(SimTouches, PiecesOfAViewGoPastTheCacheOneByOne) {
  const Tiling tiling{Layout::block(8), 0, 20};
  AccessLog log(most_touches);
  log.set_views({tiling});
  log.add(in_view(tiling, 0, 4, 8 * 40));  // 4 bytes, 39 times 8, and 4
  Shown shown;
  Progress progress;
  ASSERT_TRUE(original_touches(log, 1000, {{}, {8}}, most_touches, shown, progress));
  // Only the first piece is short; the following ones stay on its page.
  EXPECT_EQ(pages_of(shown.keys), (Pages{{0, 0}}));
  EXPECT_EQ(shown.past_bytes, 0U);
  ASSERT_TRUE(original_touches(log, ten_bytes, {{}, {8}}, most_touches, shown, progress));
  EXPECT_EQ(pages_of(shown.keys), (Pages{{0, 0}, {0, 80}}));
  EXPECT_EQ(shown.past_bytes, 39U * 8);
  EXPECT_EQ(shown.past_accesses, 1U);
  ASSERT_TRUE(original_touches(log, ten_bytes, {{}, {9}}, most_touches, shown, progress));
  EXPECT_EQ(shown.keys.size(), 41U);
  EXPECT_EQ(shown.past_bytes, 0U);
}

TEST(SimTouches, RoundsOfAggregatorsGoPastTheCache) {
  AccessLog log(most_touches);
  log.set_group_ranks({2});
  log.add(collective(contiguous(0, 0, 50)));
  log.add(collective(contiguous(1, 50, 95)));
  log.sort();
  Shown shown;
  Progress progress;
  ASSERT_TRUE(aggregated_touches(log, ten_bytes, 30, {1, 40, 0}, most_touches, shown, progress));
  EXPECT_EQ(pages_of(shown.keys), (Pages{{0, 8}, {0, 9}}));  // the third round
  EXPECT_EQ(shown.past_accesses, 2U);
  EXPECT_EQ(shown.past_bytes, 80U);
}

TEST(SimTouches, EachCacheIsShownItsProcesses) {
  AccessLog log(most_touches);
  log.add(contiguous(0, 0, 10, 1));
  log.add(contiguous(2, 10, 20, 2));
  log.add(contiguous(1, 20, 40, 3));
  log.add(contiguous(0, 50, 60, 4));
  Shown shown;
  Progress progress;
  const Caches caches{{1, 1, 0}, {Caches::never, 20, Caches::never}};
  ASSERT_TRUE(original_touches(log, ten_bytes, caches, most_touches, shown, progress));
  EXPECT_EQ(pages_of(shown.keys), (Pages{{0, 1}, {0, 0}, {0, 5}}));
  EXPECT_EQ(shown.ends, (std::vector<std::size_t>{1, 3, 3}));
  EXPECT_EQ(shown.accesses, (std::vector<uint64_t>{1, 3, 0}));
  EXPECT_EQ(shown.past_bytes, 20U);
}

TEST(SimTouches, MoreTouchesThanAllowedAreRefusedBeforeTheyAreMade) {
  AccessLog log(most_touches);
  log.add(contiguous(0, 0, int64_t{1} << 62));
  Shown shown;
  Progress progress;
  constexpr int64_t never = Caches::never;
  EXPECT_FALSE(original_touches(log, 1, {}, 1000, shown, progress));
  EXPECT_FALSE(aggregated_touches(log, 1, never, {}, 1000, shown, progress));
  // Rounds are limited, too.
  EXPECT_FALSE(aggregated_touches(log, 1 << 30, never, {1, 1}, 1000, shown, progress));
  AccessLog full(1);
  EXPECT_TRUE(full.add(contiguous(0, 0, 1)));
  EXPECT_FALSE(full.add(contiguous(0, 0, 1)));
}

TEST(SimTouches, ViewsThatGoBackwardsAreLeftOutAndCounted) {
  const Tiling tiling{Layout::block(4), 0, 2};
  AccessLog log(most_touches);
  log.set_views({tiling});
  log.add(in_view(tiling, 0, 0, 8));
  EXPECT_EQ(log.backward(), 1U);
  EXPECT_TRUE(log.accesses().empty());
}

TEST(SimAggregation, ACollectiveCallIsUnitedAndDividedEvenly) {
  AccessLog log(most_touches);
  log.set_group_ranks({2});
  log.add(collective(contiguous(0, 0, 30, 0)));
  log.add(collective(contiguous(1, 20, 60, 5)));
  // Bytes 0 to 59 by two aggregators, 30 each. The overlap counts once.
  EXPECT_EQ(aggregated(log, {2, 100}), (Pages{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}}));
  // In rounds of 10: the first pages of both aggregators, then the second pages ...
  EXPECT_EQ(aggregated(log, {2, 10}), (Pages{{0, 0}, {0, 3}, {0, 1}, {0, 4}, {0, 2}, {0, 5}}));
}

TEST(SimAggregation, HolesWithinARoundAreTouchedAndEmptyRoundsAreNot) {
  AccessLog log(most_touches);
  log.set_group_ranks({2});
  log.add(collective(contiguous(0, 5, 10, 0)));
  log.add(collective(contiguous(1, 35, 40, 0)));
  // One round contains everything, the hole included.
  EXPECT_EQ(aggregated(log, {1, 100}), (Pages{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
  // Rounds of 20 from byte 5: the first has bytes 5 to 9, the second bytes 35 to 39.
  EXPECT_EQ(aggregated(log, {1, 20}), (Pages{{0, 0}, {0, 3}}));
  // The original accesses do not touch the hole.
  EXPECT_EQ(original(log), (Pages{{0, 0}, {0, 3}}));
}

TEST(SimAggregation, ARoundBeginsWithWhatWasAskedForInTheDomain) {
  AccessLog log(most_touches);
  log.set_group_ranks({2});
  log.add(collective(contiguous(0, 0, 10, 0)));
  log.add(collective(contiguous(1, 70, 100, 0)));
  // Domains [0, 50) and [50, 100); the second begins with byte 70. Its rounds: 70-89, 90-99.
  EXPECT_EQ(aggregated(log, {2, 20}), (Pages{{0, 0}, {0, 7}, {0, 8}, {0, 9}}));
}

TEST(SimAggregation, RoundsThatMeetOnAPageCountItOnce) {
  AccessLog log(most_touches);
  log.set_group_ranks({1});
  log.add(collective(contiguous(0, 0, 30, 0)));
  EXPECT_EQ(aggregated(log, {1, 15}), (Pages{{0, 0}, {0, 1}, {0, 2}}));
}

TEST(SimAggregation, CallsAreMatchedByTheirNumberAndRoutine) {
  AccessLog log(most_touches);
  log.set_group_ranks({2});
  // The second call of process 0 begins before the first of process 1.
  log.add(collective(contiguous(0, 0, 10, 0)));
  log.add(collective(contiguous(0, 20, 30, 1)));
  log.add(collective(contiguous(1, 10, 20, 2)));
  log.add(collective(contiguous(1, 30, 40, 3)));
  EXPECT_EQ(aggregated(log, {1, 100}), (Pages{{0, 0}, {0, 1}, {0, 2}, {0, 3}}));
  const Requests requests = requests_of(log, 0);
  ASSERT_EQ(requests.list.size(), 2U);
  EXPECT_EQ(requests.list[0].time_ns, 2);  // when its last process began
  EXPECT_EQ(requests.list[1].time_ns, 3);

  AccessLog other(most_touches);
  other.set_group_ranks({2});
  other.add(collective(contiguous(0, 0, 10, 0)));
  DataAccess of_other_routine = collective(contiguous(1, 10, 20, 1));
  of_other_routine.routine = 7;
  other.add(of_other_routine);
  EXPECT_EQ(requests_of(other, 0).list.size(), 2U);
}

TEST(SimAggregation, IndependentAccessesGoDownAsTheyAre) {
  AccessLog log(most_touches);
  log.set_group_ranks({2});
  log.add(collective(contiguous(0, 0, 10, 0)));
  log.add(contiguous(0, 50, 60, 1));
  log.add(contiguous(1, 80, 100, 2));
  log.add(collective(contiguous(1, 10, 20, 3)));
  EXPECT_EQ(aggregated(log, {2, 100}), (Pages{{0, 5}, {0, 8}, {0, 9}, {0, 0}, {0, 1}}));
}

TEST(SimAggregation, FilesAndCommunicatorsStayApart) {
  AccessLog log(most_touches);
  log.set_group_ranks({1, 1});
  log.add(collective(contiguous(0, 0, 10, 0), 0));
  log.add(collective(contiguous(1, 0, 10, 0, 1), 1));
  EXPECT_EQ(aggregated(log, {4, 100}), (Pages{{0, 0}, {1, 0}}));
}

TEST(SimAggregation, WithoutMarksAWindowUnitesEachProcessOnce) {
  AccessLog log(most_touches);
  log.add(contiguous(0, 0, 10, 0));
  log.add(contiguous(1, 30, 40, 4));
  log.add(contiguous(0, 10, 20, 5));   // process 0 again: a new call
  log.add(contiguous(1, 20, 30, 50));  // too late for the new call
  EXPECT_EQ(aggregated(log, {1, 100, 10}), (Pages{{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 1}, {0, 2}}));
  EXPECT_EQ(requests_of(log, 10).list.size(), 3U);
  EXPECT_EQ(requests_of(log, 100).list.size(), 2U);
  EXPECT_EQ(requests_of(log, 0).list.size(), 4U);
}

TEST(SimAggregation, OneProcessInTwoFilesAtATimeIsTakenOnceInEach) {
  AccessLog log(most_touches);
  log.add(contiguous(0, 0, 10, 0, 0));
  log.add(contiguous(0, 0, 10, 1, 1));
  log.add(contiguous(0, 10, 20, 2, 0));
  EXPECT_EQ(requests_of(log, 100).list.size(), 3U);
}

TEST(SimAggregation, OpensThatProcessesMadeTogetherAreFound) {
  const auto open = [](uint32_t process, uint32_t file, uint32_t ranks) {
    trace::Open one;
    one.process = process;
    one.file = file;
    one.ranks = ranks;
    return one;
  };
  const std::vector<trace::Open> opens = {
      open(0, 0, 2), open(0, 0, 2), open(0, 1, 1),  // twice together, once alone
      open(1, 0, 2), open(1, 0, 2), open(1, 1, 1),
      open(2, 0, 2), open(3, 0, 2),  // another communicator of two
  };
  const std::vector<uint32_t> groups = shared_opens(opens);
  EXPECT_EQ(groups[0], groups[3]);
  EXPECT_EQ(groups[1], groups[4]);
  EXPECT_EQ(groups[6], groups[7]);
  EXPECT_EQ(std::set(groups.begin(), groups.end()).size(), 5U);
}

// The rules of aggregation.h, applied byte by byte to one file.
Pages byte_by_byte(const std::vector<std::set<int64_t>>& calls, const Aggregation& aggregation,
                   uint32_t ranks) {
  Pages pages;
  std::map<int64_t, int64_t> last_page;  // by aggregator
  for (const std::set<int64_t>& asked : calls) {
    const int64_t begin = *asked.begin(), end = *asked.rbegin() + 1;
    const int64_t count = std::min(aggregation.aggregators, ranks);
    const int64_t domain = (end - begin + count - 1) / count;
    std::map<std::pair<int64_t, int64_t>, std::set<int64_t>> rounds;  // by round and aggregator
    for (int64_t a = 0; a < count; ++a) {
      int64_t first = -1;
      for (int64_t byte = begin + a * domain; byte < std::min(end, begin + (a + 1) * domain);
           ++byte) {
        if (!asked.contains(byte)) continue;
        if (first < 0) first = byte;
        rounds[{(byte - first) / aggregation.buffer_bytes, a}].insert(byte);
      }
    }
    for (const auto& [place, bytes] : rounds) {
      int64_t& last = last_page.try_emplace(place.second, -1).first->second;
      for (int64_t i = *bytes.begin() / ten_bytes; i <= *bytes.rbegin() / ten_bytes; ++i) {
        if (i != last) pages.emplace_back(0, i);
        last = i;
      }
    }
  }
  return pages;
}

TEST(SimAggregation, RandomCallsAreAsAByteByByteAccountSays) {
  std::mt19937_64 random(5);
  const auto number = [&random](int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  };
  for (int run = 0; run < 300; ++run) {
    const auto ranks = static_cast<uint32_t>(1 + number(4));
    std::vector<Tiling> views;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      const int64_t block = 1 + number(6), stride = block + number(9), count = 1 + number(4);
      views.push_back({Layout::repeat(count, stride, Layout::block(block)), number(40),
                       stride * count + number(20)});
    }
    AccessLog log(most_touches);
    log.set_views(views);
    log.set_group_ranks({ranks});
    std::vector<std::set<int64_t>> calls(3);
    for (std::size_t call = 0; call < calls.size(); ++call) {
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const int64_t position = number(30), bytes = 1 + number(60);
        DataAccess access = collective(in_view(views[rank], rank, position, bytes));
        access.view = static_cast<int32_t>(rank);
        access.start_ns = static_cast<int64_t>(call);
        log.add(access);
        for (int64_t i = 0; i < bytes; ++i) calls[call].insert(views[rank].offset_of(position + i));
      }
    }
    const Aggregation aggregation{static_cast<uint32_t>(1 + number(5)), 1 + number(50)};
    ASSERT_EQ(aggregated(log, aggregation), byte_by_byte(calls, aggregation, ranks)) << run;
  }
}

}  // namespace
}  // namespace forebay::sim
