// The kernel of the cluster simulator: order, time, processes.
#include "sim/cluster/kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/cluster/process.h"

namespace forebay::sim {
namespace {

struct Noting final : Event {
  explicit Noting(Kernel& of) : kernel(of) {}
  void happen(uint64_t word) override { seen.emplace_back(kernel.now(), word); }
  Kernel& kernel;
  std::vector<std::pair<Picoseconds, uint64_t>> seen;
};

TEST(Kernel, LetsThingsHappenInOrderOfTimeThenOfSetting) {
  Kernel kernel;
  Noting noting(kernel);
  std::mt19937_64 random(1);
  std::vector<std::pair<Picoseconds, uint64_t>> expected;
  for (uint64_t i = 0; i < 10'000; ++i) {
    const auto time = static_cast<Picoseconds>(random() % 500);
    expected.emplace_back(time, i);
    kernel.at(time, {&noting, i});
  }
  std::ranges::sort(expected);
  EXPECT_TRUE(kernel.run());
  EXPECT_EQ(noting.seen, expected);
  EXPECT_EQ(kernel.happened(), 10'000u);
}

TEST(Kernel, StopsAfterSoManyEvents) {
  Kernel kernel;
  Noting noting(kernel);
  for (uint64_t i = 0; i < 10; ++i) kernel.after(static_cast<Picoseconds>(i), {&noting, i});
  EXPECT_FALSE(kernel.run(4));
  EXPECT_EQ(noting.seen.size(), 4u);
  EXPECT_EQ(kernel.now(), 3);
  EXPECT_TRUE(kernel.run());
  EXPECT_EQ(noting.seen.size(), 10u);
}

// What is set for the past happens now: a clock never goes back.
TEST(Kernel, ClockNeverGoesBack) {
  Kernel kernel;
  Noting noting(kernel);
  kernel.at(100, {&noting, 0});
  kernel.run();
  kernel.at(50, {&noting, 1});
  kernel.run();
  EXPECT_EQ(noting.seen.back(), std::pair(Picoseconds{100}, uint64_t{1}));
}

TEST(Kernel, TimesOfBytes) {
  EXPECT_EQ(time_of(102, 1e9 / 8), 816 * nanosecond);
  EXPECT_EQ(time_of(0, 1e9), 0);
  EXPECT_EQ(time_of(1'000'000'000, 1e9), second);
}

TEST(Process, SleepsAndWaits) {
  Kernel kernel;
  std::string said;
  Queue queue;
  Process first(kernel, [&] {
    said += "a";
    Process::current()->sleep(10);
    said += "c";
    queue.wake_all();
    said += "d";
  });
  Process second(kernel, [&] {
    said += "b";
    queue.wait();
    said += "e" + std::to_string(kernel.now());
  });
  EXPECT_TRUE(kernel.run());
  EXPECT_EQ(said, "abcde10");
  EXPECT_TRUE(first.ended() && second.ended());
}

// A wake that comes before the wait is not lost.
TEST(Process, RemembersAWakeThatCameEarly) {
  Kernel kernel;
  bool done = false;
  Process process(kernel, [&] {
    Process::current()->sleep(10);
    Process::current()->wait();
    done = true;
  });
  Process other(kernel, [&] {
    Process::current()->sleep(5);
    process.wake();
  });
  kernel.run();
  EXPECT_TRUE(done);
}

TEST(Process, WaitsForACompletion) {
  Kernel kernel;
  Completion early, late;
  kernel.at(5, early.then());
  kernel.at(20, late.then());
  std::vector<Picoseconds> times;
  Process process(kernel, [&] {
    Process::current()->sleep(10);
    early.wait();
    times.push_back(kernel.now());
    late.wait();
    late.wait();
    times.push_back(kernel.now());
  });
  kernel.run();
  EXPECT_EQ(times, (std::vector<Picoseconds>{10, 20}));
}

TEST(Process, IsWokenByOthersOneAfterTheOther) {
  Kernel kernel;
  Queue queue;
  std::vector<int> order;
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < 100; ++i) {
    processes.push_back(std::make_unique<Process>(kernel, [&order, &queue, i] {
      queue.wait();
      order.push_back(i);
      queue.wake_one();
    }));
  }
  Process starter(kernel, [&] {
    Process::current()->sleep(1);
    queue.wake_one();
  });
  kernel.run();
  ASSERT_EQ(order.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

// What a process computes with is its own, whoever runs while it waits.
TEST(Process, KeepsItsNumbers) {
  Kernel kernel;
  std::vector<double> sums(50);
  std::vector<std::unique_ptr<Process>> processes;
  for (std::size_t p = 0; p < sums.size(); ++p) {
    processes.push_back(std::make_unique<Process>(kernel, [&sums, p] {
      double sum = 0, step = static_cast<double>(p), half = step / 2;
      for (int64_t i = 1; i <= 20; ++i) {
        Process::current()->sleep(i * static_cast<int64_t>(p));
        sum += step;
        sum -= half;
      }
      sums[p] = sum;
    }));
  }
  kernel.run();
  for (std::size_t p = 0; p < sums.size(); ++p) EXPECT_EQ(sums[p], 10.0 * static_cast<double>(p));
}

TEST(Process, KeepsItsFailure) {
  Kernel kernel;
  Process process(kernel, [] { throw std::runtime_error("no"); });
  kernel.run();
  EXPECT_TRUE(process.ended());
  EXPECT_THROW(std::rethrow_exception(process.failure()), std::runtime_error);
}

}  // namespace
}  // namespace forebay::sim
