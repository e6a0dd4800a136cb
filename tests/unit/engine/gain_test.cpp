#include "engine/gain.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

// Adds calls of one size. Returns after how many of them the file was set aside (-1: never).
int calls_until_aside(Gain& gain, int64_t bytes, int64_t cached_ns, int64_t direct_ns,
                      double commit_ns_per_byte, int calls) {
  for (int call = 0; call < calls; ++call) {
    const Gain::Background background{.ns_per_byte = commit_ns_per_byte};
    if (gain.direct_sample_due(1, bytes, false) && gain.affords_sample(background)) {
      gain.direct(direct_ns, bytes);
      if (gain.judge(background)) return call;
    } else {
      gain.cached(cached_ns, bytes, 1);
    }
  }
  return -1;
}

TEST(Gain, StaysWhereCallsAreCheaperThroughTheCache) {
  Gain gain;
  EXPECT_EQ(calls_until_aside(gain, 300, 100, 900, 0.5, 1'000'000), -1);
}

TEST(Gain, StepsAsideWhereTwoCopiesCostMoreThanOne) {
  Gain gain;
  const int calls = calls_until_aside(gain, 256 << 10, 40'000, 60'000, 0.25, 100'000);
  EXPECT_GT(calls, 0);
  EXPECT_LT(calls, 1000);
}

TEST(Gain, SaysNothingBeforeItKnowsWhatCommitsCost) {
  Gain gain;
  EXPECT_EQ(calls_until_aside(gain, 256 << 10, 40'000, 60'000, -1, 100'000), -1);
}

TEST(Gain, TakesNoSampleBeforeItKnowsWhatCommitsCost) {
  Gain gain;
  for (int call = 0; call < 1000; ++call) {
    const bool due = gain.direct_sample_due(1, 256 << 10, false);
    EXPECT_FALSE(due && gain.affords_sample({.ns_per_byte = -1}));
    gain.cached(40'000, 256 << 10, 1);
  }
  EXPECT_TRUE(gain.direct_sample_due(1, 256 << 10, false) && gain.affords_sample({}));
}

// Storage that takes a hundred times as long as the cache is asked now and then only.
TEST(Gain, SamplesTakeLittleOfTheTimeOfAllCalls) {
  constexpr int64_t cached_ns = 5'000, direct_ns = 1'000'000, bytes = 8 << 10;
  constexpr double commit_ns_per_byte = 1;
  Gain gain;
  int64_t samples = 0;
  constexpr int64_t calls = 100'000;
  for (int64_t call = 0; call < calls; ++call) {
    const Gain::Background background{.ns_per_byte = commit_ns_per_byte};
    if (gain.direct_sample_due(1, bytes, false) && gain.affords_sample(background)) {
      ++samples;
      gain.direct(direct_ns, bytes);
      EXPECT_FALSE(gain.judge(background));
    } else {
      gain.cached(cached_ns, bytes, 1);
    }
  }
  const int64_t all_ns = calls * (cached_ns + bytes);
  EXPECT_GT(samples * direct_ns * 20, all_ns);
  EXPECT_LT(samples * direct_ns * 15, all_ns);
}

// Where both ways take about as long, a loss is found soon.
TEST(Gain, SamplesThatTakeNoLongerAreNotSpared) {
  Gain gain;
  const int calls = calls_until_aside(gain, 64 << 10, 100'000, 80'000, 0, 100'000);
  EXPECT_GT(calls, 0);
  EXPECT_LT(calls, 16 * 20);
}

TEST(Gain, ForgivesSmallLosses) {
  Gain gain;
  EXPECT_EQ(calls_until_aside(gain, 256 << 10, 62'000, 60'000, 0, 100'000), -1);
}

TEST(Gain, ForgivesRareOutliers) {
  Gain gain;
  for (int call = 0; call < 100'000; ++call) {
    const Gain::Background background{.ns_per_byte = 0.5};
    if (gain.direct_sample_due(1, 300, false) && gain.affords_sample(background)) {
      gain.direct(900, 300);
      EXPECT_FALSE(gain.judge(background));
    } else {
      gain.cached(call % 5 == 0 ? 4'000'000 : 100, 300, 1);
    }
  }
}

TEST(Gain, StepsAsideWhereWorkInTheBackgroundCostsMoreThanItSaves) {
  for (const double background_ns : {-1.0, 0.0, 500.0, 1000.0}) {
    Gain gain;
    bool aside = false;
    for (int call = 0; call < 1000 && !aside; ++call) {
      if (gain.direct_sample_due(1, 300, true)) {
        gain.direct(900, 300);
        aside = gain.judge({.ns_per_call = background_ns});
      } else {
        gain.cached(100, 300, 1);
      }
    }
    EXPECT_EQ(aside, background_ns > 900) << background_ns;
  }
}

// The longer the cache brings a gain, the fewer calls go past it.
TEST(Gain, TakesFewerCheapSamplesWhereTheCacheBringsAGain) {
  Gain gain;
  int samples = 0;
  for (int call = 0; call < 100'000; ++call) {
    if (gain.direct_sample_due(1, 300, true)) {
      ++samples;
      gain.direct(900, 300);
      EXPECT_FALSE(gain.judge({}));
    } else {
      gain.cached(100, 300, 1);
    }
  }
  EXPECT_GE(samples, 50);
  EXPECT_LE(samples, 70);
}

// With more ranks than cores, each call through the cache can wait for a rank that lost the
// processor.
TEST(Gain, FindsALossWithinAHundredCallsWhereSamplesAreCheap) {
  Gain gain;
  int calls = 0;
  for (bool aside = false; !aside && calls < 1000; ++calls) {
    if (gain.direct_sample_due(1, 300, true)) {
      gain.direct(900, 300);
      aside = gain.judge({.ns_per_call = 1000});
    } else {
      gain.cached(100, 300, 1);
    }
  }
  EXPECT_LE(calls, 100);
}

TEST(Gain, TriesAgainLaterAndLaterEachTime) {
  Gain gain;
  int64_t before = 0;
  for (int round = 0; round < 4; ++round) {
    ASSERT_GE(calls_until_aside(gain, 256 << 10, 40'000, 60'000, 0.25, 100'000), 0);
    int64_t aside = 0;
    while (gain.stay_aside()) ++aside;
    EXPECT_GT(aside, before);
    before = aside;
  }
}

}  // namespace
}  // namespace forebay
