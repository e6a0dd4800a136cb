// Read-ahead on the access patterns of real programs: what is predicted is asked for later, nothing
// is predicted twice, the window opens and closes.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "predict/sequential.h"

namespace forebay {
namespace {

constexpr int64_t KiB = 1024;
constexpr int64_t largest_window = 1024 * KiB;

// Plays accesses and counts what the predictor was good for.
class Play {
 public:
  explicit Play(int64_t join_bytes = 64 * KiB, int64_t window = largest_window)
      : predictor_(window, join_bytes), window_(window) {}

  void access(Extent access) {
    ++accesses_;
    hits_ += fetched(access);
    const FetchList list = predictor_.access(access);
    for (const ExtentRun& run : list.runs()) {
      for (int64_t i = 0; i < run.count; ++i) {
        const Extent extent{run.first.offset + i * run.stride, run.first.length};
        EXPECT_GE(extent.offset, 0);
        EXPECT_GT(extent.length, 0);
        EXPECT_LE(extent.length, window_);
        fetched_bytes_ += extent.length;
        add(extent);
      }
    }
  }

  int64_t hits() const { return hits_; }
  int64_t misses() const { return accesses_ - hits_; }
  int64_t fetched_bytes() const { return fetched_bytes_; }
  const SequentialPredictor& predictor() const { return predictor_; }

 private:
  bool fetched(Extent access) const {
    int64_t at = access.offset;
    for (auto it = pieces_.upper_bound(at); it != pieces_.begin() && at < access.end();
         it = pieces_.upper_bound(at)) {
      --it;
      if (it->second <= at) return false;
      at = it->second;
    }
    return at >= access.end();
  }
  void add(Extent extent) {
    int64_t& end = pieces_[extent.offset];
    end = std::max(end, extent.end());
  }

  SequentialPredictor predictor_;
  const int64_t window_;
  std::map<int64_t, int64_t> pieces_;  // begin to end of what was fetched
  int64_t accesses_ = 0;
  int64_t hits_ = 0;
  int64_t fetched_bytes_ = 0;
};

TEST(SequentialPredictor, ReadsAheadOfAContiguousReader) {
  Play play;
  for (int64_t i = 0; i < 1000; ++i) play.access({i * 4 * KiB, 4 * KiB});
  EXPECT_EQ(play.misses(), 2) << "the first access, and the one that shows the rule";
  EXPECT_LE(play.fetched_bytes(), 1000 * 4 * KiB + largest_window);
  EXPECT_EQ(play.predictor().window_bytes(), largest_window);
}

TEST(SequentialPredictor, TakesContiguousAccessesOfAnyLength) {
  Play play;
  std::mt19937_64 random(1);
  int64_t offset = 12345;
  for (int i = 0; i < 1000; ++i) {
    const auto length = static_cast<int64_t>(1 + random() % 9000);
    play.access({offset, length});
    offset += length;
  }
  EXPECT_EQ(play.misses(), 2);
  EXPECT_LE(play.fetched_bytes(), offset - 12345 + largest_window);
}

TEST(SequentialPredictor, FetchesTheNextHalfBeforeTheWindowIsUsedUp) {
  SequentialPredictor predictor(largest_window, 0);
  EXPECT_TRUE(predictor.access({0, 8 * KiB}).empty());
  const FetchList first = predictor.access({8 * KiB, 8 * KiB});
  ASSERT_EQ(first.runs().size(), 1u);
  EXPECT_EQ(first.runs()[0].first, (Extent{16 * KiB, 64 * KiB}));
  for (int64_t i = 2; i < 5; ++i) EXPECT_TRUE(predictor.access({i * 8 * KiB, 8 * KiB}).empty());
  const FetchList second = predictor.access({5 * 8 * KiB, 8 * KiB});
  ASSERT_EQ(second.runs().size(), 1u);
  EXPECT_EQ(second.runs()[0].first, (Extent{80 * KiB, 96 * KiB})) << "128 KiB from here on";
}

TEST(SequentialPredictor, CoversInterleavedRecordsByWholePages) {
  Play play;  // one of four ranks that deal out 4 KiB records
  for (int64_t i = 0; i < 1000; ++i) play.access({i * 16 * KiB + 4 * KiB, 4 * KiB});
  EXPECT_EQ(play.misses(), 3);
  EXPECT_GE(play.fetched_bytes(), 900 * 16 * KiB) << "holes are fetched with the records";
  EXPECT_LE(play.fetched_bytes(), 1000 * 16 * KiB + largest_window);
}

TEST(SequentialPredictor, LeavesWideHolesOut) {
  Play play;
  for (int64_t i = 0; i < 1000; ++i) play.access({i * 1024 * KiB, 4 * KiB});
  EXPECT_EQ(play.misses(), 3);
  EXPECT_LE(play.fetched_bytes(), 1000 * 4 * KiB + largest_window);
}

TEST(SequentialPredictor, ReadsBackward) {
  for (const int64_t stride : {4 * KiB, 16 * KiB, 256 * KiB}) {
    Play play;
    for (int64_t i = 999; i >= 0; --i) play.access({i * stride, 4 * KiB});
    EXPECT_EQ(play.misses(), 3) << "stride " << stride;
  }
}

// Rows of a block of an array: `columns` records `inner` apart, rows `outer` apart.
void read_rows(Play& play, int64_t begin, int64_t rows, int64_t columns, int64_t inner,
               int64_t outer) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < columns; ++i) {
      play.access({begin + row * outer + i * inner, 4 * KiB});
    }
  }
}

TEST(SequentialPredictor, FollowsNestedStrides) {
  for (const int64_t inner : {4 * KiB, 12 * KiB, 100 * KiB}) {
    Play play;
    read_rows(play, 0, 100, 8, inner, 4096 * KiB);
    EXPECT_LE(play.misses(), 2 * 3 + 2) << "inner step " << inner;
  }
}

TEST(SequentialPredictor, KnowsARowThatBeginsElsewhere) {
  Play play;
  for (int64_t plane = 0; plane < 10; ++plane) {
    read_rows(play, plane * 1000 * 1024 * KiB, 20, 8, 12 * KiB, 2048 * KiB);
  }
  EXPECT_LE(play.misses(), 2 * 3 + 2 + 9 * 2) << "one or two a plane";
}

TEST(SequentialPredictor, GoesOnWhenARunIsLongerThanTheOnesBefore) {
  Play play;
  read_rows(play, 0, 6, 8, 12 * KiB, 2048 * KiB);
  const int64_t before = play.misses();
  read_rows(play, 6 * 2048 * KiB, 1, 100, 12 * KiB, 0);
  EXPECT_LE(play.misses() - before, 1);
}

TEST(SequentialPredictor, IsSilentWhenAccessesAreRandom) {
  Play play;
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; ++i) {
    play.access(
        {static_cast<int64_t>(random() % (1 << 30)), static_cast<int64_t>(1 + random() % 8192)});
  }
  EXPECT_EQ(play.fetched_bytes(), 0);
}

TEST(SequentialPredictor, IsNearlySilentOnRandomRecords) {
  Play play;
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; ++i) {
    play.access({static_cast<int64_t>(random() % (1 << 18)) * 4 * KiB, 4 * KiB});
  }
  EXPECT_LE(play.fetched_bytes(), 100 * 64 * KiB);
}

TEST(SequentialPredictor, ClosesItsWindowOnAMissAndLearnsAgain) {
  Play play;
  for (int64_t i = 0; i < 100; ++i) play.access({i * 4 * KiB, 4 * KiB});
  EXPECT_GT(play.predictor().window_bytes(), 64 * KiB);
  play.access({5000 * KiB, 100});
  EXPECT_EQ(play.predictor().window_bytes(), 0);
  play.access({5000 * KiB + 100, 100});
  EXPECT_EQ(play.predictor().window_bytes(), 64 * KiB);
}

TEST(SequentialPredictor, PassesOverTheSameAccessAgain) {
  Play play;
  for (int64_t i = 0; i < 100; ++i) {
    play.access({i * 4 * KiB, 4 * KiB});
    play.access({i * 4 * KiB, 4 * KiB});
  }
  EXPECT_LE(play.misses(), 4);
}

TEST(SequentialPredictor, WithoutAWindowSaysNothing) {
  Play play(64 * KiB, 0);
  for (int64_t i = 0; i < 100; ++i) play.access({i * 4 * KiB, 4 * KiB});
  EXPECT_EQ(play.fetched_bytes(), 0);
}

}  // namespace
}  // namespace forebay
