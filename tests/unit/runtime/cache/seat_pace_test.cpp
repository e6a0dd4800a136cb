// The pace of collective accesses, kept in the seats of the ranks' handles.
#include "runtime/cache/seat_pace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "extent/seeded_random.h"

namespace forebay::runtime {
namespace {

constexpr int64_t distance_bytes = 100;

// Seats of handles that were opened together, and one of another open before them.
class SeatPaceTest : public ::testing::Test {
 protected:
  void take_seats(uint32_t count) {
    for (uint32_t s = 0; s <= count; ++s) {
      Seat& seat = *new (&registry_->seats[s]) Seat;
      seat.file.store(0);
      seat.group.store(s == 0 ? 1 : 2);
      if (s > 0) paces_.push_back(std::make_unique<SeatPace>(*registry_, seat, distance_bytes));
    }
    registry_->seats_made.store(count + 1);
    // Of the other open: as far behind as can be.
    registry_->seats[0].progress[1].offset.store(0);
    registry_->seats[0].progress[1].end.store(1 << 20);
  }
  // As when its process has died and was reaped.
  void give_back_seat(uint32_t seat) { registry_->seats[seat].file.store(no_entry); }
  void announce_all() {
    for (const auto& pace : paces_) pace->announce();
  }
  SeatPace& pace(std::size_t rank) { return *paces_[rank]; }

 private:
  std::unique_ptr<Registry> registry_ = std::make_unique<Registry>();
  std::vector<std::unique_ptr<SeatPace>> paces_;
};

TEST_F(SeatPaceTest, WhoIsFarAheadWaits) {
  take_seats(2);
  announce_all();
  pace(0).begin({0, 1000});
  EXPECT_TRUE(pace(0).come_to(0));
  EXPECT_TRUE(pace(0).come_to(100));
  EXPECT_FALSE(pace(0).come_to(101)) << "the other has not begun";
  pace(1).begin({10, 990});
  EXPECT_TRUE(pace(0).come_to(110));
  EXPECT_FALSE(pace(0).come_to(111));
  EXPECT_TRUE(pace(1).come_to(200)) << "nobody is behind it by more";
  EXPECT_FALSE(pace(1).come_to(999));
  EXPECT_TRUE(pace(0).come_to(140));
  pace(0).end();
  EXPECT_TRUE(pace(1).come_to(1000)) << "the other has ended";
}

TEST_F(SeatPaceTest, WhoHasNoPartHoldsNobodyUp) {
  take_seats(3);
  announce_all();
  pace(0).begin({0, 1000});
  pace(1).end();
  pace(2).begin({0, 5000});  // a few bytes far apart, or many more than the first has
  EXPECT_TRUE(pace(0).come_to(900));
}

TEST_F(SeatPaceTest, NobodyWaitsForTheDead) {
  take_seats(2);
  announce_all();
  pace(0).begin({0, 1000});
  EXPECT_FALSE(pace(0).come_to(500));
  give_back_seat(2);
  EXPECT_TRUE(pace(0).come_to(501));
}

TEST_F(SeatPaceTest, RanksWithRegionsOfTheirOwnDoNotWait) {
  take_seats(4);
  announce_all();
  for (std::size_t rank = 0; rank < 4; ++rank)
    pace(rank).begin({static_cast<int64_t>(rank) * 1000, 1100});
  for (const int64_t offset : {3000, 3500, 4000}) EXPECT_TRUE(pace(3).come_to(offset));
}

// Rows of tiles: two ranks in each row.
TEST_F(SeatPaceTest, RegionsShareTheCache) {
  take_seats(4);
  announce_all();
  for (std::size_t rank = 0; rank < 4; ++rank)
    pace(rank).begin({static_cast<int64_t>(rank / 2) * 1000, 1000});
  EXPECT_TRUE(pace(2).come_to(1050));
  EXPECT_FALSE(pace(2).come_to(1051)) << "its row has half of the distance";
  EXPECT_TRUE(pace(0).come_to(50));
}

TEST_F(SeatPaceTest, TheNextAccessHasProgressOfItsOwn) {
  take_seats(2);
  announce_all();
  pace(0).begin({0, 1000});
  pace(1).begin({0, 1000});
  EXPECT_TRUE(pace(0).come_to(90));
  pace(0).end();
  pace(0).announce();  // it waits for the other before the next access
  EXPECT_TRUE(pace(1).come_to(990));
  pace(1).end();
  pace(1).announce();
  pace(0).begin({0, 1000});
  EXPECT_FALSE(pace(0).come_to(101)) << "the other has not begun the second access";
  pace(1).begin({0, 1000});
  EXPECT_TRUE(pace(1).come_to(1));
  EXPECT_TRUE(pace(0).come_to(101));
}

TEST_F(SeatPaceTest, ThreadsStayNearEachOther) {
  constexpr int64_t ranks = 4, accesses = 20, region = 20'000;
  take_seats(ranks);
  std::atomic<int64_t> arrived{0}, farthest{0};
  std::vector<std::atomic<int64_t>> places(ranks);
  const auto rank = [&](int64_t me) {
    SeededRandom random(static_cast<uint64_t>(me) + 7);
    SeatPace& mine = pace(static_cast<std::size_t>(me));
    for (int64_t access = 0; access < accesses; ++access) {
      mine.announce();
      arrived.fetch_add(1);
      while (arrived.load() < (access + 1) * ranks) std::this_thread::yield();
      mine.begin({0, region});
      int64_t stop = 0;
      for (int64_t offset = random.below(50); offset < region; offset += 1 + random.below(60)) {
        if (offset >= stop) {
          if (!mine.come_to(offset)) mine.wait();
          stop = mine.next_stop();
        }
        const int64_t here = access * region + offset;
        places[static_cast<std::size_t>(me)].store(here);
        int64_t slowest = here;
        for (const std::atomic<int64_t>& place : places) slowest = std::min(slowest, place.load());
        if (here - slowest > farthest.load()) farthest.store(here - slowest);
        if (random.one_in(50)) std::this_thread::yield();
      }
      places[static_cast<std::size_t>(me)].store((access + 1) * region);
      mine.end();
    }
  };
  std::vector<std::jthread> threads;
  for (int64_t me = 0; me < ranks; ++me) threads.emplace_back(rank, me);
  threads.clear();
  // Between two stops both go on: the fast one by a step and a piece, the slow one unseen as far.
  EXPECT_LE(farthest.load(), distance_bytes + 3 * 60 + 2 * distance_bytes / 8);
}

}  // namespace
}  // namespace forebay::runtime
