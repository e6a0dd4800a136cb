// Time stamps in ticks become times of the clock, right to a few microseconds, and never run
// backwards.
#include "runtime/trace/tick_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <random>

namespace forebay::runtime {
namespace {

constexpr double ns_per_tick = 0.4761;  // 2.1 GHz

int64_t ticks_at(int64_t ns) { return static_cast<int64_t>(static_cast<double>(ns) / ns_per_tick); }

TEST(TickClock, TwoMomentsCloseTogetherTellNoRate) {
  TickClock clock({ticks_at(0), 0}, {ticks_at(100'000), 100'000});
  (void)clock.ns(ticks_at(64'999'900));
  // Read 50 ns late, of the 100 since the last stamp.
  clock.calibrate({ticks_at(65'000'000), 65'000'050});
  EXPECT_NEAR(clock.ns(ticks_at(74'000'000)), 74'000'000, 2'000);
}

TEST(TickClock, StampsAreToldTheTimeAndNoneBackwards) {
  constexpr int64_t noise_ns = 50;  // of each reading of the clock
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int64_t from, int64_t to) {
      return std::uniform_int_distribution<int64_t>(from, to)(random);
    };
    const auto read = [&](int64_t ns) {
      return Moment{ticks_at(ns), ns + draw(-noise_ns, noise_ns)};
    };
    int64_t now = 100'000;
    TickClock clock(read(0), read(now));
    int64_t last = 0;
    for (int step = 0; step < 2000; ++step) {
      now += draw(1, draw(0, 9) == 0 ? 5'000'000 : 2'000);
      if (draw(0, 3) == 0) clock.calibrate(read(now));
      const int64_t told = clock.ns(ticks_at(now));
      ASSERT_GE(told, last) << "seed " << seed << ", step " << step;
      // The first two readings may be wrong by a thousandth.
      ASSERT_LT(std::abs(told - now), 30'000) << "seed " << seed << ", step " << step;
      last = told;
    }
  }
}

// Two threads' stamps are converted a chunk at a time, so one thread's may be earlier than the
// other's that were converted before.
TEST(TickClock, EachThreadsStampsKeepTheirOrder) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const auto draw = [&](int64_t from, int64_t to) {
      return std::uniform_int_distribution<int64_t>(from, to)(random);
    };
    int64_t now = 100'000;
    TickClock clock({ticks_at(0), 0}, {ticks_at(now), now + draw(-50, 50)});
    int64_t ticks[2] = {ticks_at(now), ticks_at(now)}, told[2] = {0, 0};
    for (int step = 0; step < 2000; ++step) {
      now += draw(1, draw(0, 9) == 0 ? 15'000'000 : 200);
      if (draw(0, 3) == 0) clock.calibrate({ticks_at(now), now + draw(-50, 50)});
      const auto thread = static_cast<std::size_t>(draw(0, 1));
      if (draw(0, 1) == 0) ticks[thread] = std::max(ticks[thread], ticks_at(now) - 1000);
      for (int64_t stamps = draw(1, 20); stamps > 0 && ticks[thread] < ticks_at(now); --stamps) {
        ticks[thread] = std::min(ticks[thread] + draw(1, 20), ticks_at(now));
        const int64_t next = clock.ns(ticks[thread]);
        ASSERT_GE(next, told[thread]) << "seed " << seed << ", step " << step;
        told[thread] = next;
      }
    }
  }
}

}  // namespace
}  // namespace forebay::runtime
