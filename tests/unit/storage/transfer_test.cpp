// Transfers that are begun, and completed later: several at a time, in any order.
#include "storage/transfer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <semaphore>
#include <string>
#include <vector>

#include "engine/io_plan.h"
#include "storage/fault.h"
#include "storage/plan_requests.h"
#include "storage/posix.h"
#include "unit/temporary_file.h"

namespace forebay {
namespace {

using test::TemporaryFile;
using Direction = Transfer::Direction;

// `count` requests of `length` bytes each, one behind the other from `offset` on.
struct Blocks {
  Blocks(int64_t offset, int64_t length, std::size_t count, char first)
      : segments(count), requests(count) {
    for (std::size_t i = 0; i < count; ++i)
      memory.emplace_back(static_cast<std::size_t>(length), static_cast<char>(first + i));
    for (std::size_t i = 0; i < count; ++i) {
      segments[i] = {reinterpret_cast<std::byte*>(memory[i].data()), length};
      requests[i] = {offset + static_cast<int64_t>(i) * length, {&segments[i], 1}};
    }
  }
  std::string text() const {
    std::string all;
    for (const std::string& block : memory) all += block;
    return all;
  }
  std::vector<std::string> memory;
  std::vector<Segment> segments;
  std::vector<Request> requests;
};

class PosixTransfers : public testing::Test {
 protected:
  TemporaryFile file_;
  FaultInjector calls_;
  std::unique_ptr<Storage> storage_ =
      std::move(open_posix_with(calls_, file_.path(), true, true).storage);
};

TEST_F(PosixTransfers, AreCompletedInAnyOrder) {
  constexpr int64_t large = 256 << 10;  // worth several threads
  const Blocks first(0, large, 3, 'a');
  const Blocks second(3 * large, 10, 2, 'p');
  const Blocks third(3 * large + 20, large, 4, 'u');
  Transfer transfers[3];
  const Blocks* const blocks[] = {&first, &second, &third};
  for (int i = 0; i < 3; ++i) {
    transfers[i].set(Direction::write, blocks[i]->requests);
    storage_->submit(transfers[i]);
    EXPECT_TRUE(transfers[i].under_way());
  }
  for (const int i : {1, 2, 0}) {
    EXPECT_TRUE(storage_->complete(transfers[i]).ok());
    EXPECT_FALSE(transfers[i].under_way());
    EXPECT_EQ(transfers[i].counters().requests, std::ssize(blocks[i]->requests));
  }
  EXPECT_TRUE(file_.content() == first.text() + second.text() + third.text());
}

TEST_F(PosixTransfers, OneThatIsDestroyedIsCompletedFirst) {
  const Blocks blocks(0, 300 << 10, 4, 'a');
  {
    Transfer transfer(Direction::write, blocks.requests);
    storage_->submit(transfer);
  }
  EXPECT_TRUE(file_.content() == blocks.text());
}

TEST_F(PosixTransfers, OneIsUsedAgain) {
  const Blocks written(0, 10, 6, 'a');
  const Blocks read(5, 10, 2, '?');
  Transfer transfer(Direction::write, written.requests);
  storage_->submit(transfer);
  EXPECT_TRUE(storage_->complete(transfer).ok());
  transfer.set(Direction::read, read.requests);
  storage_->submit(transfer);
  EXPECT_TRUE(storage_->complete(transfer).ok());
  EXPECT_EQ(read.text(), written.text().substr(5, 20));
  EXPECT_EQ(transfer.outcomes().size(), 2u);
}

TEST_F(PosixTransfers, SayHowEachRequestEnded) {
  const Blocks blocks(0, 10, 3, 'a');
  calls_.fail_once(Call::pwritev, 2, ENOSPC);
  Transfer transfer(Direction::write, blocks.requests);
  storage_->submit(transfer);
  const Status status = storage_->complete(transfer);
  EXPECT_EQ(status.code, Code::no_space);
  EXPECT_EQ(status.offset, 10);
  std::vector<int64_t> transferred;
  for (const Transfer::Outcome& outcome : transfer.outcomes())
    transferred.push_back(outcome.transferred);
  EXPECT_EQ(transferred, (std::vector<int64_t>{10, 0, 10}));
  EXPECT_TRUE(transfer.outcomes()[2].status.ok());
}

TEST_F(PosixTransfers, NothingIsATransferToo) {
  Transfer transfer(Direction::read, {});
  storage_->submit(transfer);
  EXPECT_TRUE(storage_->complete(transfer).ok());
  EXPECT_EQ(transfer.counters().requests, 0);
}

// Writes wait until they are let go.
class HeldCalls final : public SystemCalls {
 public:
  explicit HeldCalls(bool local) : local_(local) {}
  bool local(int) override { return local_; }
  ssize_t pwritev(int descriptor, const iovec* segments, int count, int64_t offset) override {
    begun.release();
    go.acquire();
    return SystemCalls::pwritev(descriptor, segments, count, offset);
  }
  std::counting_semaphore<> begun{0};
  std::counting_semaphore<> go{0};

 private:
  const bool local_;
};

TEST(PosixSubmission, GoesOnWhileNobodyWaits) {
  const TemporaryFile file;
  HeldCalls calls(false);
  const auto storage = open_posix_with(calls, file.path(), true, true).storage;
  const Blocks blocks(0, 256 << 10, 2, 'a');
  Transfer transfer(Direction::write, blocks.requests);
  storage->submit(transfer);
  calls.begun.acquire();  // both are under way, and this thread is free
  calls.begun.acquire();
  calls.go.release(2);
  EXPECT_TRUE(storage->complete(transfer).ok());
  EXPECT_TRUE(file.content() == blocks.text());
}

TEST(PosixSubmission, LeavesLocalWritesToTheThreadThatWaits) {
  const TemporaryFile file;
  HeldCalls calls(true);
  const auto storage = open_posix_with(calls, file.path(), true, true).storage;
  const Blocks blocks(0, 256 << 10, 2, 'a');
  Transfer transfer(Direction::write, blocks.requests);
  storage->submit(transfer);
  EXPECT_FALSE(calls.begun.try_acquire_for(std::chrono::milliseconds(20)));
  calls.go.release(2);
  EXPECT_TRUE(storage->complete(transfer).ok());
  EXPECT_TRUE(file.content() == blocks.text());
}

TEST(PlanRequests, AreTheRunsOfThePlan) {
  IoPlan plan;
  plan.add(3, 3000, {900, 100});
  plan.add(4, 4000, {0, 50});
  plan.add(7, 7000, {10, 20}, 1);
  std::byte memory[8];
  PlanRequests requests;
  requests.set(plan, [&](const IoPlan::Part& part) { return &memory[part.frame]; });
  ASSERT_EQ(requests.list().size(), 2u);
  EXPECT_EQ(requests.list()[0].offset, 3900);
  ASSERT_EQ(requests.list()[0].segments.size(), 2u);
  EXPECT_EQ(requests.list()[0].segments[1].memory, &memory[4]);
  EXPECT_EQ(requests.list()[0].segments[1].length, 50);
  EXPECT_EQ(requests.list()[1].offset, 7010);
  EXPECT_EQ(requests.list()[1].segments[0].memory, &memory[7]);
  EXPECT_EQ(length_of(requests.list()[0]), 150);
}

}  // namespace
}  // namespace forebay
