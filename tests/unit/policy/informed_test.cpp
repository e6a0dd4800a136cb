// Which page InformedPolicy evicts, by what it knows of the next accesses.
#include "policy/informed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace forebay {
namespace {

class Informed : public testing::Test, private Candidates {
 protected:
  Informed() : state_(InformedPolicy::state_bytes(frames) / 8 + 1), policy(state_.data(), frames) {
    policy.reset();
  }

  // Pages have the numbers of their frames, from 100 on for pages in no frame.
  static PageKey page_of(int64_t number) { return {1, number}; }
  void insert(FrameIndex frame) { policy.insert(frame, page_of(frame)); }
  void hit(FrameIndex frame) { policy.hit(frame, page_of(frame)); }
  void foresee(FrameIndex frame, uint64_t when) { policy.foresee(page_of(frame), frame, when); }
  void forget(FrameIndex frame, uint64_t when) { policy.forget(page_of(frame), frame, when); }
  FrameIndex victim() { return policy.victim(page_of(100), *this); }

  static constexpr uint32_t frames = 8;

 private:
  bool evictable(FrameIndex frame) const override { return frame != kept; }
  uint32_t commit_cost(FrameIndex) const override { return 0; }
  std::vector<uint64_t> state_;

 protected:
  InformedPolicy policy;
  FrameIndex kept = no_frame;
};

TEST_F(Informed, EvictsWhatIsForeseenLast) {
  for (FrameIndex frame = 0; frame < 4; ++frame) insert(frame);
  foresee(0, 20);
  foresee(1, 40);
  foresee(2, 30);
  foresee(3, 10);
  EXPECT_EQ(victim(), 1U);
  kept = 1;
  EXPECT_EQ(victim(), 2U);
  forget(3, 10);
  foresee(3, 50);
  EXPECT_EQ(victim(), 3U);
  foresee(3, 5);  // the soonest access counts
  EXPECT_EQ(victim(), 2U);
  kept = no_frame;
  EXPECT_EQ(victim(), 1U);
}

TEST_F(Informed, EvictsTheOldestOfWhatNothingIsKnownOf) {
  for (FrameIndex frame = 0; frame < 4; ++frame) insert(frame);
  EXPECT_EQ(victim(), 0U);
  foresee(0, 1'000'000);
  EXPECT_EQ(victim(), 1U);
  forget(0, 1'000'000);
  EXPECT_EQ(victim(), 0U);
}

TEST_F(Informed, ExpectsAPageAgainAfterItsLastInterval) {
  for (FrameIndex frame = 0; frame < 3; ++frame) insert(frame);
  for (int i = 0; i <= 100; ++i) {
    hit(0);
    hit(1);
    if (i % 10 == 0) hit(2);
  }
  EXPECT_EQ(victim(), 2U);
}

TEST_F(Informed, WhatDoesNotComeIsExpectedLaterAndLater) {
  for (FrameIndex frame = 0; frame < 3; ++frame) insert(frame);
  for (int i = 0; i < 10; ++i) hit(0);
  for (int i = 0; i < 100; ++i) {  // page 0 was accessed more often than these, but long ago
    hit(1);
    hit(2);
  }
  EXPECT_EQ(victim(), 0U);
}

TEST_F(Informed, DoesNotBelieveInWhatIsVeryLate) {
  for (FrameIndex frame = 0; frame < 3; ++frame) insert(frame);
  hit(1);
  foresee(0, policy.now() + 10);
  for (int i = 0; i < 5; ++i) hit(1);
  EXPECT_NE(victim(), 0U);
  for (int i = 0; i < 50; ++i) {
    hit(1);
    hit(2);
  }
  EXPECT_EQ(victim(), 0U);
}

// A loop of twelve pages: at each access to one of them, LRU has just evicted it.
TEST_F(Informed, KnowsPagesThatComeBack) {
  std::vector<int64_t> page_in;  // per frame
  int hits = 0;
  for (int64_t i = 0; i < 240; ++i) {
    const PageKey key = page_of(i % 12);
    const auto found = std::find(page_in.begin(), page_in.end(), key.page);
    if (found != page_in.end()) {
      ++hits;
      policy.hit(static_cast<FrameIndex>(found - page_in.begin()), key);
    } else if (page_in.size() < frames) {
      policy.insert(static_cast<FrameIndex>(page_in.size()), key);
      page_in.push_back(key.page);
    } else {
      const FrameIndex frame = victim();
      policy.replace(frame, page_of(page_in[frame]), frame, key);
      page_in[frame] = key.page;
    }
  }
  EXPECT_GT(hits, 100);
}

TEST_F(Informed, AForecastHoldsUntilTheNextAccess) {
  insert(0);
  insert(1);
  foresee(0, 3);
  hit(0);
  forget(0, 3);
  hit(1);
  foresee(1, 4);
  EXPECT_EQ(victim(), 0U);  // expected again after two accesses, at 5
  forget(1, 4);
  foresee(1, 500);
  EXPECT_EQ(victim(), 1U);
}

TEST_F(Informed, RemembersWhatIsForeseenOfPagesInNoFrame) {
  for (FrameIndex frame = 0; frame < 2; ++frame) insert(frame);
  policy.foresee(page_of(2), no_frame, 1000);
  insert(2);
  foresee(0, 10);
  foresee(1, 20);
  EXPECT_EQ(victim(), 2U);
  hit(2);
  EXPECT_EQ(victim(), 2U);  // as long as it is not told that this was the access
  forget(2, 1000);
  EXPECT_NE(victim(), 2U);
}

TEST_F(Informed, KnowsTheSoonestOfMoreAccessesThanItRemembers) {
  insert(0);
  insert(1);
  foresee(1, 600);
  for (uint64_t when = 1000; when > 500; --when) foresee(0, when);
  EXPECT_EQ(victim(), 1U);
}

}  // namespace
}  // namespace forebay
