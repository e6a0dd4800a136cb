// Guests that leave for their owners while ranks write (CacheHandle::give_guests()).
#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "engine/cache_handle.h"
#include "predict/predictor.h"
#include "unit/engine/one_file_cache.h"

namespace forebay::sim {
namespace {

constexpr int64_t guest_page = 4096;
constexpr int64_t guest_frames = 64;
// The first node, which has every other page.
const FileDomains by_page(0, guest_page, 2);
constexpr uint32_t first_node = 0;

HandleRules keeping_guests() {
  HandleRules rules;
  rules.hands_over = true;
  rules.step_aside = SteppingAside::never;
  rules.predictor = find_predictor("sequential");
  return rules;
}

class GuestsTest : public testing::Test {
 protected:
  void write(int64_t offset, int64_t bytes) {
    EXPECT_TRUE(handle_.write(Extent{offset, bytes}, NoBytes{}).ok());
  }
  // Gives all guests; owners take `most` lists.
  Status give(int64_t most) {
    return handle_.give_guests(by_page, first_node, [&](uint32_t owner, const IoPlan& plan) {
      if (most-- <= 0) return Status{Code::network, 0, -1};
      given_[owner] += plan.bytes();
      most_given_ = std::max(most_given_, plan.bytes());
      return Status();
    });
  }
  PartialPages partial() { return cache_.cache().partial_pages(cache_.file()); }
  int64_t committed() const { return cache_.statistics().committed_bytes; }

  std::map<uint32_t, int64_t> given_;
  int64_t most_given_ = 0;
  OneFileCache<InstantDriver> cache_{one_shard(guest_page, guest_frames)};
  CacheHandle<InstantDriver> handle_{cache_.cache(), cache_.file(), keeping_guests(), true, false};
};

TEST_F(GuestsTest, AllLeaveAndOwnBytesStay) {
  for (int64_t at = 0; at < 40 * guest_page; at += guest_page) write(at + 8, 100);
  EXPECT_TRUE(give(INT64_MAX).ok());
  EXPECT_EQ(given_, (std::map<uint32_t, int64_t>{{1, 20 * 100}}));
  EXPECT_EQ(committed(), 0);
  EXPECT_EQ(partial().pages, 20);
  EXPECT_EQ(cache_.statistics().guest_bytes, 20 * 100);
}

// An owner that waits for frames of this node finds some.
TEST_F(GuestsTest, HalfOfTheFramesAtMostLeaveAtOnce) {
  for (int64_t at = guest_page; at < 2 * (guest_frames - 4) * guest_page; at += 2 * guest_page)
    write(at, 100);
  EXPECT_TRUE(give(INT64_MAX).ok());
  EXPECT_EQ(given_[1], (guest_frames - 4) * 100);
  EXPECT_EQ(most_given_, guest_frames / 2 * 100);
}

TEST_F(GuestsTest, WhatNoOwnerTakesGoesToStorage) {
  for (int64_t at = 0; at < 40 * guest_page; at += guest_page) write(at, 100);
  EXPECT_TRUE(give(0).ok());
  EXPECT_TRUE(given_.empty());
  EXPECT_EQ(committed(), 20 * 100);
  EXPECT_EQ(partial().pages, 20);
  EXPECT_EQ(cache_.statistics().guest_bytes, 0);
}

TEST_F(GuestsTest, AreCommittedWithinARange) {
  for (int64_t at = 0; at < 40 * guest_page; at += guest_page) write(at, 100);
  EXPECT_TRUE(handle_.commit_guests({10 * guest_page, 4 * guest_page}, by_page, first_node).ok());
  EXPECT_EQ(committed(), 2 * 100);  // pages 11 and 13
  EXPECT_TRUE(handle_.commit_guests({0, INT64_MAX}, by_page, first_node).ok());
  EXPECT_EQ(committed(), 20 * 100);
}

TEST_F(GuestsTest, LackRoomWherePagesLackBytes) {
  for (int64_t at = 0; at < guest_frames / 2 * guest_page; at += guest_page) write(at, 100);
  EXPECT_FALSE(handle_.lacks_room_for_guests());
  for (int64_t at = guest_frames / 2 * guest_page; at < guest_frames * 3 / 4 * guest_page;
       at += guest_page)
    write(at, 100);
  EXPECT_TRUE(handle_.lacks_room_for_guests());
  EXPECT_FALSE(handle_.lacks_room_for_guests());  // nothing has changed
}

TEST_F(GuestsTest, FullPagesLeaveRoom) {
  for (int64_t at = 0; at < 4 * guest_frames * guest_page; at += guest_page) write(at, guest_page);
  EXPECT_FALSE(handle_.lacks_room_for_guests());
}

}  // namespace
}  // namespace forebay::sim
