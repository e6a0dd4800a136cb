// Forecasts of accesses, as far as they are asked for.
#include "predict/forecast.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace forebay {
namespace {

std::vector<Extent> foreseen_by(Forecast& forecast, int most) {
  std::vector<Extent> all;
  Extent next;
  for (int i = 0; i < most && forecast.foresee(&next); ++i) all.push_back(next);
  return all;
}

TEST(Forecast, KnowsNothingOfTheFirstAccesses) {
  Forecast forecast;
  Extent next;
  EXPECT_FALSE(forecast.foresee(&next));
  EXPECT_FALSE(forecast.take({0, 10}));
  EXPECT_FALSE(forecast.take({50, 10}));
  EXPECT_FALSE(forecast.foresee(&next));
}

TEST(Forecast, ReachesThroughWholeRepetitions) {
  constexpr int64_t records = 20;
  Forecast forecast;
  int64_t came_true = 0;
  for (int64_t i = 0; i < 4 * records; ++i) {  // four times the same
    const bool foreseen = forecast.take({i % records * 100, 10});
    if (i >= 3 * records) came_true += foreseen;
  }
  EXPECT_GE(came_true, records - 1);
  const std::vector<Extent> ahead = foreseen_by(forecast, 3 * records);
  ASSERT_EQ(ahead.size(), std::size_t{3 * records});
  for (int64_t i = 0; i < 3 * records; ++i)
    EXPECT_EQ(ahead[static_cast<std::size_t>(i)], (Extent{i % records * 100, 10})) << i;
}

TEST(Forecast, WhatIsForeseenComesTrueOneByOneOrIsVoid) {
  Forecast forecast;
  for (int64_t i = 0; i < 10; ++i) forecast.take({i * 100, 10});
  EXPECT_EQ(foreseen_by(forecast, 5).back(), (Extent{1400, 10}));
  EXPECT_TRUE(forecast.take({1000, 10}));
  EXPECT_EQ(foreseen_by(forecast, 1).back(), (Extent{1500, 10}));  // it goes on behind these
  EXPECT_FALSE(forecast.take({7, 7}));
  EXPECT_TRUE(foreseen_by(forecast, 5).empty());
}

// So that what is foreseen in vain costs little.
TEST(Forecast, ReachesTheFurtherTheMoreCameTrue) {
  Forecast forecast;
  for (int64_t i = 0; i < 4; ++i) forecast.take({i * 100, 10});
  const std::size_t few = foreseen_by(forecast, 100'000).size();
  EXPECT_LT(few, 1000U);
  for (int64_t i = 4; i < 40; ++i) EXPECT_TRUE(forecast.take({i * 100, 10})) << i;
  EXPECT_GT(foreseen_by(forecast, 100'000).size(), 10 * few);
}

TEST(Forecast, EndsWhereNoFileHasBytes) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (const int64_t step : {int64_t{-100}, most / 8}) {
    Forecast forecast;
    const int64_t begin = step < 0 ? 1000 : 0;
    for (int64_t i = 0; i < 5; ++i) forecast.take({begin + i * step, 10});
    for (const Extent& extent : foreseen_by(forecast, 100)) {
      EXPECT_GE(extent.offset, 0);
      EXPECT_LE(extent.length, most - extent.offset);
    }
  }
}

}  // namespace
}  // namespace forebay
