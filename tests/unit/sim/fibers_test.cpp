// Fibers in virtual time: events, and what is scheduled.
#include "sim/fibers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace forebay::sim {
namespace {

TEST(Fibers, ActAtTheTimesForWhichItIsScheduled) {
  Fibers fibers(1);
  std::vector<int64_t> times;
  const auto note = [&] { times.push_back(fibers.now_ns()); };
  fibers.spawn(1, [&] {
    fibers.schedule(1, 300, note);
    fibers.schedule(1, 100, [&] {
      note();
      fibers.schedule(1, 50, note);
    });
    fibers.sleep(200);
    note();
  });
  EXPECT_TRUE(fibers.run());
  EXPECT_EQ(times, (std::vector<int64_t>{100, 150, 200, 300}));
}

TEST(Fibers, WaitForAnEventThatHappensOrHasHappened) {
  Fibers fibers(1);
  Fibers::Event event;
  std::vector<int64_t> times;
  const auto wait = [&] {
    fibers.wait(event);
    times.push_back(fibers.now_ns());
  };
  fibers.spawn(1, wait);
  fibers.spawn(2, wait);
  fibers.spawn(3, [&] {
    fibers.schedule(3, 70, [&] { fibers.happen(event); });
    fibers.sleep(100);
    wait();
  });
  EXPECT_TRUE(fibers.run());
  EXPECT_EQ(times, (std::vector<int64_t>{70, 70, 100}));
  EXPECT_TRUE(event.happened());
}

TEST(Fibers, WhatIsScheduledForADeadGroupIsNotDone) {
  Fibers fibers(1);
  int done = 0;
  fibers.spawn(1, [&] {
    fibers.schedule(1, 100, [&] { ++done; });
    fibers.schedule(2, 100, [&] { ++done; });
    fibers.sleep(1000);
  });
  fibers.spawn(2, [&] {
    fibers.sleep(50);
    fibers.kill(1);
  });
  EXPECT_TRUE(fibers.run());
  EXPECT_EQ(done, 1);
  EXPECT_EQ(fibers.now_ns(), 100);
}

TEST(Fibers, AStepThatIsLongLetsOthersComeFar) {
  Fibers fibers(1, 1, 1);  // each step
  int others = 0;
  bool far = false;
  fibers.spawn(1, [&] {
    for (int i = 0; i < 20; ++i) {
      const int before = others;
      fibers.step();
      far = far || others > before + 100;
    }
  });
  fibers.spawn(2, [&] {
    for (; others < 100'000; ++others) fibers.sleep(1000);
  });
  EXPECT_TRUE(fibers.run());
  EXPECT_TRUE(far);
}

TEST(Fibers, DieAtASpotWhicheverComesThere) {
  Fibers fibers(1);
  std::vector<int> came;
  const auto live = [&] {
    for (int i = 0; i < 3; ++i) fibers.step();
    came.push_back(static_cast<int>(fibers.group()));
    fibers.step(Fibers::Spot::in_wait);
    came.push_back(-1);
  };
  fibers.spawn(0, live);
  fibers.spawn(1, live);
  fibers.spawn(2, live);
  fibers.kill_after(Fibers::any_group, 2, Fibers::Spot::in_wait);
  EXPECT_TRUE(fibers.run());
  EXPECT_NE(fibers.is_dead(1), fibers.is_dead(2));
  EXPECT_EQ(std::ranges::count(came, -1), 2);
}

}  // namespace
}  // namespace forebay::sim
