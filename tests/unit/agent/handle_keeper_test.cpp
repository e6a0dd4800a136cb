// What an agent keeps of a handle: the shared pointer, ordered accesses, ranges of atomic mode.
#include "agent/handle_keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "agent/agent.h"
#include "agent/kept_handle.h"
#include "agent/line.h"

namespace forebay::agent {
namespace {

using What = KeeperQuestion::What;

class HandleKeeperTest : public ::testing::Test {
 protected:
  std::optional<int64_t> ask(int rank, What what, int64_t value = 0, int64_t turn = 0,
                             int64_t view = 0) {
    KeeperQuestion question;
    question.handle = 77;
    question.view = view;
    question.what = static_cast<int64_t>(what);
    question.value = value;
    question.turn = turn;
    question.range = range_;
    return keeper_.answer(question, &ranks_[rank]);
  }
  std::optional<int64_t> lock(int rank, const Extent& range, bool writes = true) {
    range_ = range;
    return ask(rank, What::lock, writes ? 1 : 0);
  }

  HandleKeeper keeper_;
  int ranks_[4] = {};
  Extent range_{0, 1};
};

TEST_F(HandleKeeperTest, MovesThePointer) {
  EXPECT_EQ(ask(0, What::advance, 10), 0);
  EXPECT_EQ(ask(1, What::advance, 5), 10);
  EXPECT_EQ(ask(2, What::load), 15);
  EXPECT_TRUE(ask(0, What::store, 100));
  EXPECT_EQ(ask(1, What::advance, 1), 100);
  EXPECT_FALSE(ask(1, What::advance, INT64_MAX));
}

TEST_F(HandleKeeperTest, ANewViewBeginsAtZero) {
  ask(0, What::advance, 10);
  EXPECT_EQ(ask(1, What::advance, 3, 0, 1), 0);
  EXPECT_EQ(ask(2, What::load, 0, 0, 1), 3);
  EXPECT_EQ(ask(0, What::load, 0, 0, 5), 0);
}

TEST_F(HandleKeeperTest, OrderedAccessesBeginWhereTheFirstRankFindsThePointer) {
  ask(0, What::store, 1000);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(ask(rank, What::place, 60, 0), 1000);
  EXPECT_EQ(ask(1, What::place, 6, 1), 1060);
  EXPECT_EQ(ask(0, What::place, 6, 1), 1060);
  EXPECT_EQ(ask(3, What::load), 1066);
  EXPECT_FALSE(ask(3, What::place, 6, 0));  // long over
  EXPECT_FALSE(ask(3, What::place, 6, 9));
}

TEST_F(HandleKeeperTest, RangesThatMeetTakeTurns) {
  EXPECT_EQ(lock(0, {100, 100}), 1);
  EXPECT_EQ(lock(1, {200, 100}), 1);
  EXPECT_EQ(lock(2, {199, 2}), 0);
  ask(0, What::unlock);
  EXPECT_EQ(lock(2, {199, 2}), 0);
  ask(1, What::unlock);
  EXPECT_EQ(lock(3, {0, 1000}), 0);  // after rank 2, which has asked before
  EXPECT_EQ(lock(2, {199, 2}), 1);
  EXPECT_EQ(lock(3, {0, 1000}), 0);
  ask(2, What::unlock);
  EXPECT_EQ(lock(3, {0, 1000}), 1);
}

TEST_F(HandleKeeperTest, ReadsMeetReads) {
  EXPECT_EQ(lock(0, {0, 10}, false), 1);
  EXPECT_EQ(lock(1, {5, 10}, false), 1);
  EXPECT_EQ(lock(2, {5, 10}, true), 0);
  EXPECT_EQ(lock(3, {5, 10}, false), 0);  // no writer waits for ever
  ask(0, What::unlock);
  ask(1, What::unlock);
  EXPECT_EQ(lock(2, {5, 10}, true), 1);
  EXPECT_EQ(lock(3, {5, 10}, false), 0);
}

TEST_F(HandleKeeperTest, ARankThatHasGoneHoldsNothing) {
  EXPECT_EQ(lock(0, {0, 10}), 1);
  EXPECT_EQ(lock(1, {0, 10}), 0);
  EXPECT_EQ(lock(2, {0, 10}), 0);
  keeper_.release_all(&ranks_[0]);
  keeper_.release_all(&ranks_[1]);
  EXPECT_EQ(lock(2, {0, 10}), 1);
  EXPECT_EQ(ask(3, What::advance, 7), 0);
  keeper_.release_all(&ranks_[3]);
  EXPECT_EQ(ask(2, What::load), 7);  // the pointer stays
}

TEST_F(HandleKeeperTest, NothingIsKeptOfAHandleThatAllHaveLeft) {
  ask(0, What::advance, 10);
  ask(1, What::advance, 10);
  ask(0, What::leave);
  EXPECT_EQ(keeper_.count(), 1u);
  ask(1, What::leave);
  EXPECT_EQ(keeper_.count(), 0u);
}

TEST_F(HandleKeeperTest, RefusesSenselessQuestions) {
  for (const Extent& range : {Extent{-1, 5}, Extent{0, 0}, Extent{5, INT64_MAX}, Extent{3, -3}})
    EXPECT_FALSE(lock(0, range));
  EXPECT_FALSE(ask(0, static_cast<What>(99)));
}

// Ranks that ask an agent, each over a line of its own.
class KeptHandleTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(agent_.start()); }
  std::unique_ptr<KeptHandle> handle() const {
    Address address = own_address();
    address.port = agent_.port();
    address.key = agent_.key();
    auto handle = std::make_unique<KeptHandle>(std::make_shared<Line>(address));
    handle->set_name(5);
    return handle;
  }
  Agent agent_;
};

TEST_F(KeptHandleTest, EachByteBelongsToOneRank) {
  constexpr int ranks = 4, rounds = 200;
  std::vector<std::atomic<int>> taken(ranks * rounds * 3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&] {
      const std::unique_ptr<KeptHandle> mine = handle();
      for (int round = 0; round < rounds; ++round) {
        int64_t before = 0;
        ASSERT_TRUE(mine->advance(3, &before).ok());
        for (int64_t byte = before; byte < before + 3; ++byte)
          ++taken[static_cast<std::size_t>(byte)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<int>& byte : taken) EXPECT_EQ(byte.load(), 1);
}

TEST_F(KeptHandleTest, WritersOfARangeAreAlone) {
  constexpr int ranks = 4, rounds = 100;
  std::atomic<int> guarded{0};  // by the range: what a rank has read, nobody else changes
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const std::unique_ptr<KeptHandle> mine = handle();
      for (int round = 0; round < rounds; ++round) {
        ASSERT_TRUE(mine->lock({rank, ranks}, true).ok());  // all have byte `ranks - 1`
        const int before = guarded.load();
        std::this_thread::yield();
        guarded.store(before + 1);
        mine->unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(guarded.load(), ranks * rounds);
}

TEST_F(KeptHandleTest, FollowsTheViews) {
  const std::unique_ptr<KeptHandle> one = handle(), other = handle();
  int64_t position = 0;
  ASSERT_TRUE(one->store(40).ok());
  ASSERT_TRUE(other->load(&position).ok());
  EXPECT_EQ(position, 40);
  one->begin_view();
  other->begin_view();
  ASSERT_TRUE(other->advance(8, &position).ok());
  EXPECT_EQ(position, 0);
  ASSERT_TRUE(one->place(0, 5, &position).ok());
  EXPECT_EQ(position, 8);
}

TEST_F(KeptHandleTest, TellsThatNobodyAnswers) {
  Address nobody = own_address();
  nobody.port = 1;
  KeptHandle lost(std::make_shared<Line>(nobody));
  int64_t position = 0;
  EXPECT_EQ(lost.load(&position).code, Code::network);
  EXPECT_EQ(lost.lock({0, 1}, true).code, Code::network);
  EXPECT_EQ(lost.lock({0, 1}, true).code, Code::network);  // it was let go
}

}  // namespace
}  // namespace forebay::agent
