// Read-ahead for the access patterns of real programs: predicted bytes are requested later, none is
// predicted twice, the window opens and closes.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "predict/fetch_list.h"
#include "predict/sequential.h"
#include "predict/signature.h"
#include "predict/trust.h"

namespace forebay {
namespace {

constexpr int64_t KiB = 1024;
constexpr int64_t largest_window = 1024 * KiB;

// Makes accesses, and counts how many bytes a predictor fetched, and how many of them were used.
class Play {
 public:
  explicit Play(const PredictorSpec& spec, int64_t join_bytes = 64 * KiB,
                int64_t window = largest_window)
      : predictor_(spec.make(window, join_bytes)), window_(window) {}

  void access(Extent access) {
    ++accesses_;
    hits_ += fetched(access);
    for (const Extent& extent : predictor_->access(access)) {
      EXPECT_GE(extent.offset, 0);
      EXPECT_GT(extent.length, 0);
      EXPECT_LE(extent.length, window_);
      fetched_bytes_ += extent.length;
      add(extent);
    }
  }

  int64_t hits() const { return hits_; }
  int64_t misses() const { return accesses_ - hits_; }
  int64_t fetched_bytes() const { return fetched_bytes_; }
  const Predictor& predictor() const { return *predictor_; }

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

  const std::unique_ptr<Predictor> predictor_;
  const int64_t window_;
  std::map<int64_t, int64_t> pieces_;  // fetched pieces, begin to end
  int64_t accesses_ = 0;
  int64_t hits_ = 0;
  int64_t fetched_bytes_ = 0;
};

// What every predictor must do.
class EachPredictor : public testing::TestWithParam<const PredictorSpec*> {};

INSTANTIATE_TEST_SUITE_P(Table, EachPredictor, testing::ValuesIn([] {
                           std::vector<const PredictorSpec*> specs;
                           for (const PredictorSpec& spec : predictors()) specs.push_back(&spec);
                           return specs;
                         }()),
                         [](const auto& spec) { return std::string(spec.param->name); });

TEST_P(EachPredictor, ReadsAheadOfAContiguousReader) {
  Play play(*GetParam());
  for (int64_t i = 0; i < 1000; ++i) play.access({i * 4 * KiB, 4 * KiB});
  EXPECT_EQ(play.misses(), 2) << "the first access, and the one that shows the rule";
  EXPECT_LE(play.fetched_bytes(), 1000 * 4 * KiB + largest_window);
}

TEST_P(EachPredictor, TakesContiguousAccessesOfAnyLength) {
  Play play(*GetParam());
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

TEST_P(EachPredictor, FetchesTheNextHalfBeforeTheWindowIsUsedUp) {
  const auto predictor = GetParam()->make(largest_window, 0);
  EXPECT_TRUE(predictor->access({0, 8 * KiB}).empty());
  const auto first = predictor->access({8 * KiB, 8 * KiB});
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0], (Extent{16 * KiB, 64 * KiB}));
  for (int64_t i = 2; i < 5; ++i) EXPECT_TRUE(predictor->access({i * 8 * KiB, 8 * KiB}).empty());
  const auto second = predictor->access({5 * 8 * KiB, 8 * KiB});
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0], (Extent{80 * KiB, 96 * KiB})) << "128 KiB from here on";
}

TEST_P(EachPredictor, CoversInterleavedRecordsByWholePages) {
  Play play(*GetParam());  // one of four ranks that take 4 KiB records in turn
  for (int64_t i = 0; i < 1000; ++i) play.access({i * 16 * KiB + 4 * KiB, 4 * KiB});
  EXPECT_EQ(play.misses(), 3);
  EXPECT_GE(play.fetched_bytes(), 900 * 16 * KiB) << "holes are fetched with the records";
  EXPECT_LE(play.fetched_bytes(), 1000 * 16 * KiB + largest_window);
}

TEST_P(EachPredictor, LeavesWideHolesOut) {
  Play play(*GetParam());
  for (int64_t i = 0; i < 1000; ++i) play.access({i * 1024 * KiB, 4 * KiB});
  EXPECT_EQ(play.misses(), 3);
  EXPECT_LE(play.fetched_bytes(), 1000 * 4 * KiB + largest_window);
}

TEST_P(EachPredictor, ReadsBackward) {
  for (const int64_t stride : {4 * KiB, 16 * KiB, 256 * KiB}) {
    Play play(*GetParam());
    for (int64_t i = 999; i >= 0; --i) play.access({i * stride, 4 * KiB});
    EXPECT_EQ(play.misses(), 3) << "stride " << stride;
  }
}

// Rows of a block of an array: `columns` records at steps of `inner`, rows at steps of `outer`.
void read_rows(Play& play, int64_t begin, int64_t rows, int64_t columns, int64_t inner,
               int64_t outer) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < columns; ++i) {
      play.access({begin + row * outer + i * inner, 4 * KiB});
    }
  }
}

TEST_P(EachPredictor, FollowsNestedStrides) {
  for (const int64_t inner : {4 * KiB, 12 * KiB, 100 * KiB}) {
    Play play(*GetParam());
    read_rows(play, 0, 100, 8, inner, 4096 * KiB);
    EXPECT_LE(play.misses(), 2 * 3 + 2) << "inner step " << inner;
  }
}

TEST_P(EachPredictor, KnowsARowThatBeginsElsewhere) {
  Play play(*GetParam());
  for (int64_t plane = 0; plane < 10; ++plane) {
    read_rows(play, plane * 1000 * 1024 * KiB, 20, 8, 12 * KiB, 2048 * KiB);
  }
  EXPECT_LE(play.misses(), 2 * 3 + 2 + 9 * 2) << "one or two a plane";
}

TEST_P(EachPredictor, GoesOnWhenARunIsLongerThanTheOnesBefore) {
  Play play(*GetParam());
  read_rows(play, 0, 6, 8, 12 * KiB, 2048 * KiB);
  const int64_t before = play.misses();
  read_rows(play, 6 * 2048 * KiB, 1, 100, 12 * KiB, 0);
  EXPECT_LE(play.misses() - before, 1);
}

// Others fetch rows that the predictor offers, now and then.
class PlayBesideOthers {
 public:
  explicit PlayBesideOthers(const PredictorSpec& spec) : predictor_(spec.make(largest_window, 0)) {}

  void access(Extent access) {
    ++accesses_;
    misses_ += ahead_.erase(access.offset) == 0 ? 1 : 0;
    if (std::exchange(taken_, false) && predictor_->row_holds()) predictor_->row_fetched();
    for (const Extent& extent : predictor_->access(access)) fetch(extent);
    if (predictor_->row_holds()) return;
    const ReadRow row = predictor_->next_row();
    offered_ += row.count > 0 ? 1 : 0;
    taken_ = row.count > 0 && random_() % 2 == 0;
    for (int64_t i = 0; taken_ && i < row.count; ++i)
      fetch({row.first.offset + i * row.step, row.first.length});
    most_ahead_ = std::max(most_ahead_, std::ssize(ahead_));
  }

  int64_t accesses() const { return accesses_; }
  int64_t misses() const { return misses_; }
  int64_t offered() const { return offered_; }
  int64_t most_ahead() const { return most_ahead_; }

 private:
  void fetch(Extent extent) {
    EXPECT_TRUE(ahead_.insert(extent.offset).second) << extent.offset << " is fetched twice";
  }

  const std::unique_ptr<Predictor> predictor_;
  std::mt19937_64 random_{1};
  bool taken_ = false;
  std::set<int64_t> ahead_;  // offsets of what was fetched and not read
  int64_t accesses_ = 0, misses_ = 0, offered_ = 0;
  std::ptrdiff_t most_ahead_ = 0;
};

TEST_P(EachPredictor, GoesOnBehindARowThatOthersHaveFetched) {
  constexpr int64_t record = 8 * KiB;
  const auto in_window = largest_window / record;
  for (const int64_t step : {32 * KiB, -32 * KiB}) {
    PlayBesideOthers play(*GetParam());
    const int64_t first = step > 0 ? 0 : -2000 * step;
    for (int64_t i = 0; i < 2000; ++i) play.access({first + i * step, record});
    EXPECT_EQ(play.misses(), 3);
    EXPECT_GT(play.offered(), 10);
    EXPECT_LE(play.most_ahead(), in_window * 2) << "however much others fetch";
  }
}

TEST_P(EachPredictor, OffersNoRowBeyondTheEndOfARow) {
  constexpr int64_t record = 8 * KiB, in_row = 100;
  PlayBesideOthers play(*GetParam());
  for (int64_t i = 0; i < 2000; ++i)
    play.access({i / in_row * 1024 * 1024 * KiB + i % in_row * 32 * KiB, record});
  EXPECT_LT(play.misses(), 20);
  EXPECT_GT(play.offered(), 10);
}

TEST_P(EachPredictor, OffersNoRowWithoutHoles) {
  const auto predictor = GetParam()->make(largest_window, 64 * KiB);
  for (const int64_t step : {8 * KiB, 32 * KiB}) {
    for (int64_t i = 0; i < 100; ++i) {
      (void)predictor->access({i * step, 8 * KiB});
      EXPECT_EQ(predictor->next_row().count, 0);
      EXPECT_FALSE(predictor->row_holds());
    }
  }
}

TEST(ReadRow, SpansWhatFilesCanHave) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ((ReadRow{{10, 5}, 20, 3}.span()), (Extent{10, 45}));
  EXPECT_EQ((ReadRow{{50, 5}, -20, 3}.span()), (Extent{10, 45}));
  EXPECT_TRUE((ReadRow{{10, 5}, -20, 3}.span().empty()));
  EXPECT_TRUE((ReadRow{{most - 10, 5}, 20, 2}.span().empty()));
  EXPECT_TRUE((ReadRow{{0, 5}, most, 3}.span().empty()));
  EXPECT_TRUE((ReadRow{{0, 5}, 20, 0}.span().empty()));
}

TEST_P(EachPredictor, IsSilentWhenAccessesAreRandom) {
  Play play(*GetParam());
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; ++i) {
    play.access(
        {static_cast<int64_t>(random() % (1 << 30)), static_cast<int64_t>(1 + random() % 8192)});
  }
  EXPECT_EQ(play.fetched_bytes(), 0);
}

TEST_P(EachPredictor, IsNearlySilentOnRandomRecords) {
  Play play(*GetParam());
  std::mt19937_64 random(9);
  for (int i = 0; i < 100000; ++i) {
    play.access({static_cast<int64_t>(random() % (1 << 18)) * 4 * KiB, 4 * KiB});
  }
  EXPECT_LE(play.fetched_bytes(), 100 * 64 * KiB);
}

TEST(FetchList, AddsARowLikeItsExtents) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  std::mt19937_64 random(1);
  const auto draw = [&](int64_t below) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  };
  for (int row = 0; row < 20'000; ++row) {
    FetchList at_once(64), one_by_one(64);
    Extent extent{draw(2000), 1 + draw(40)};
    if (row % 5 == 0) extent.offset = most - 2000 + draw(2000);
    const int64_t step = draw(300) - 150, count = draw(40);
    at_once.add_row(extent, step, count);
    for (int64_t i = 0; i < count; ++i) {
      const auto offset = static_cast<uint64_t>(extent.offset) +
                          static_cast<uint64_t>(i) * static_cast<uint64_t>(step);
      one_by_one.add({static_cast<int64_t>(offset), extent.length});
    }
    const auto expected = one_by_one.sorted(), got = at_once.sorted();
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), got.begin(), got.end()))
        << extent.offset << " + " << extent.length << ", step " << step << ", " << count;
  }
}

TEST(SequentialPredictor, ClosesItsWindowOnAMissAndLearnsAgain) {
  SequentialPredictor predictor(largest_window, 64 * KiB);
  for (int64_t i = 0; i < 100; ++i) predictor.access({i * 4 * KiB, 4 * KiB});
  EXPECT_GT(predictor.window_bytes(), 64 * KiB);
  predictor.access({5000 * KiB, 100});
  EXPECT_EQ(predictor.window_bytes(), 0);
  predictor.access({5000 * KiB + 100, 100});
  EXPECT_EQ(predictor.window_bytes(), 64 * KiB);
  for (int64_t i = 2; i < 100000; ++i) predictor.access({5000 * KiB + i * 100, 100});
  EXPECT_EQ(predictor.window_bytes(), largest_window);
}

TEST_P(EachPredictor, PassesOverTheSameAccessAgain) {
  Play play(*GetParam());
  for (int64_t i = 0; i < 100; ++i) {
    play.access({i * 4 * KiB, 4 * KiB});
    play.access({i * 4 * KiB, 4 * KiB});
  }
  EXPECT_LE(play.misses(), 4);
}

TEST_P(EachPredictor, WithoutAWindowSaysNothing) {
  Play play(*GetParam(), 64 * KiB, 0);
  for (int64_t i = 0; i < 100; ++i) play.access({i * 4 * KiB, 4 * KiB});
  EXPECT_EQ(play.fetched_bytes(), 0);
}

// Whatever the offsets are, nothing outside of possible files is fetched (and no sum overflows).
TEST_P(EachPredictor, StaysWithinWhatOffsetsCanSay) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (const int64_t step : {-most / 3, most / 5, -(int64_t{1} << 40), int64_t{1} << 40}) {
    Play play(*GetParam());
    const int64_t begin = step < 0 ? most - 20000 : 0;
    for (int64_t i = 0; i < 3; ++i) {
      for (const int64_t within : {0, 300, 301, 5000}) {
        play.access({begin + i * step + within, 100 + within});
      }
    }
    for (int64_t i = 0; i < 4; ++i) play.access({begin + i * step / 2, 8192});
  }
}

// Reads of the variables of a record, as PnetCDF makes them: unlike in place and size, the same in
// every record.
struct Variable {
  int64_t offset;  // in the record
  int64_t length;
  int64_t pieces = 1;
};

void read_records(Play& play, const std::vector<Variable>& variables, int64_t records,
                  int64_t record_bytes) {
  for (int64_t record = 0; record < records; ++record) {
    for (const Variable& variable : variables) {
      for (int64_t piece = 0; piece < variable.pieces; ++piece) {
        play.access(
            {record * record_bytes + variable.offset + piece * variable.length, variable.length});
      }
    }
  }
}

TEST(SignaturePredictor, KnowsTheVariablesOfARecord) {
  const std::vector<Variable> variables = {
      {0, 3000}, {900 * KiB, 8000}, {300 * KiB, 100}, {1700 * KiB, 30000}, {500 * KiB, 4096}};
  Play signature(*find_predictor("signature"));
  read_records(signature, variables, 40, 4096 * KiB);
  EXPECT_LE(signature.misses(), 3 * std::ssize(variables)) << "three records show the rule";
  EXPECT_LE(signature.fetched_bytes(), 40 * (3000 + 8000 + 100 + 30000 + 4096) + largest_window);
  Play sequential(*find_predictor("sequential"));
  read_records(sequential, variables, 40, 4096 * KiB);
  EXPECT_EQ(sequential.hits(), 0);
}

TEST(SignaturePredictor, KnowsWhereTheNextRunBegins) {
  const std::vector<Variable> variables = {
      {0, 3000, 20}, {900 * KiB, 8000, 7}, {300 * KiB, 512, 50}, {1700 * KiB, 30000, 3}};
  Play signature(*find_predictor("signature"));
  read_records(signature, variables, 40, 4096 * KiB);
  Play sequential(*find_predictor("sequential"));
  read_records(sequential, variables, 40, 4096 * KiB);
  EXPECT_GE(sequential.misses(), 2 * 4 * 40);
  EXPECT_LE(signature.misses(), 2 * 4 * 4 + 4);
}

TEST(SignaturePredictor, FollowsStepsOfAnyDepth) {
  const auto read_array = [](Play& play) {  // a block in four dimensions, with gaps
    for (int64_t a = 0; a < 6; ++a) {
      for (int64_t b = 0; b < 6; ++b) {
        for (int64_t c = 0; c < 6; ++c) {
          for (int64_t d = 0; d < 6; ++d) {
            play.access({((a * 50 + b) * 50 + c) * 50 * 80 * KiB + d * 80 * KiB, 1000});
          }
        }
      }
    }
  };
  Play signature(*find_predictor("signature"), 4 * KiB);
  read_array(signature);
  Play sequential(*find_predictor("sequential"), 4 * KiB);
  read_array(sequential);
  EXPECT_LE(signature.misses(), 3 * sequential.misses() / 4);
  EXPECT_LE(signature.misses(), 3 + 3 + 3 * 3 + 3 * 9);
}

TEST(SignaturePredictor, LeavesTheFieldWhenTheRuleFails) {
  const std::vector<Variable> variables = {{0, 3000}, {900 * KiB, 8000}, {300 * KiB, 100}};
  Play play(*find_predictor("signature"));
  read_records(play, variables, 40, 4096 * KiB);
  EXPECT_TRUE(play.predictor().predicts());
  const int64_t before = play.fetched_bytes();
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    play.access({static_cast<int64_t>(random() % (1 << 30)), 1 + i % 7});
    EXPECT_FALSE(play.predictor().predicts());
  }
  EXPECT_EQ(play.fetched_bytes(), before);
  for (int64_t i = 0; i < 100; ++i) play.access({i * 4 * KiB, 4 * KiB});
  EXPECT_TRUE(play.predictor().predicts());
}

// Contiguous reads of a few sizes in random order contain loops by chance.
// Scattered points: rules appear by chance and fail. The predictor soon need not be told of most
// accesses, and makes few predictions meanwhile.
TEST(SignaturePredictor, RestsWhileItsRulesKeepFailing) {
  std::mt19937_64 random(1);
  SignaturePredictor predictor(largest_window, 64 * KiB);
  constexpr int accesses = 100'000;
  int told = 0;
  for (int64_t i = 0; i < accesses; ++i) {
    if (predictor.rests() > 0) {
      EXPECT_FALSE(predictor.predicts());
      predictor.rested(1, 4);
      continue;
    }
    predictor.access({8 * i + static_cast<int64_t>(4 * (random() % 2)), 4});
    ++told;
  }
  EXPECT_LT(told, accesses / 10);
  EXPECT_GT(told, 0);
}

// After a rest it learns again: a rule that holds is followed to its end.
TEST(SignaturePredictor, FollowsARuleThatAppearsLater) {
  std::mt19937_64 random(1);
  SignaturePredictor predictor(largest_window, 64 * KiB);
  for (int64_t i = 0; predictor.rests() == 0; ++i)
    predictor.access({8 * i + static_cast<int64_t>(4 * (random() % 2)), 4});
  const int64_t rests = predictor.rests();
  predictor.rested(rests - 1, 0);
  EXPECT_EQ(predictor.rests(), 1);
  predictor.rested(1, 0);
  int64_t fetched = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(predictor.rests(), 0);
    const Extent access{i % 2 == 0 ? 50'000 * i : 50'000 * i + 7000, i % 2 == 0 ? 3000 : 500};
    for (const Extent& extent : predictor.access(access)) fetched += extent.length;
  }
  EXPECT_GT(fetched, 1000 * 1000);
}

// Rests are bounded in bytes, too: telling a predictor of large accesses costs nothing beside them.
// Records that lie far from each other, in an order that no rule describes.
std::vector<Extent> records_in_any_order(std::size_t count, uint64_t seed) {
  std::vector<Extent> records;
  for (std::size_t i = 0; i < count; ++i)
    records.push_back({static_cast<int64_t>(i) * 256 * KiB, static_cast<int64_t>(3000 + i % 7)});
  std::shuffle(records.begin(), records.end(), std::mt19937_64(seed));
  return records;
}

TEST(MarkovPredictor, KnowsWhatIsReadInTheSameOrderAgain) {
  const std::vector<Extent> records = records_in_any_order(500, 1);
  Play known(*find_predictor("markov")), unknown(*find_predictor("signature"));
  for (int round = 0; round < 4; ++round) {
    for (const Extent& record : records) {
      known.access(record);
      unknown.access(record);
    }
  }
  // Each record is read ahead in all rounds but the first.
  EXPECT_LE(known.misses(), 500 + 10);
  EXPECT_GE(unknown.misses(), 1400);
  EXPECT_LE(known.fetched_bytes(), 3 * 500 * 3007 + 2 * largest_window);
}

TEST(MarkovPredictor, LearnsAnotherOrder) {
  Play play(*find_predictor("markov"));
  for (const uint64_t seed : {1, 2}) {
    for (int round = 0; round < 4; ++round) {
      for (const Extent& record : records_in_any_order(500, seed)) play.access(record);
    }
  }
  EXPECT_LE(play.misses(), 2 * 500 + 100);
}

TEST(MarkovPredictor, FetchesLittleInVain) {
  const auto predictor = find_predictor("markov")->make(largest_window, 0);
  int64_t fetched = 0;
  // Most pairs of accesses occurred before, and another access followed.
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const Extent access{static_cast<int64_t>(random() % 20) * 256 * KiB, 4 * KiB};
    if (predictor->rests() > 0) {
      predictor->rested(1, access.length);
      continue;
    }
    for (const Extent& extent : predictor->access(access)) fetched += extent.length;
  }
  EXPECT_LE(fetched, 20'000 * 4 * KiB);
}

TEST(Trust, RestsForFewLargeAccesses) {
  Trust trust;
  int failures = 0;
  for (; trust.rests() == 0; ++failures) trust.failed();
  EXPECT_GT(failures, 10);
  trust.rested(1, 100'000);
  EXPECT_GT(trust.rests(), 0);
  trust.rested(1, 2'000'000);
  EXPECT_EQ(trust.rests(), 0);
}

TEST(Trust, RestsLongerEachTimeUntilItIsRestored) {
  Trust trust;
  const auto rest = [&] {
    while (trust.rests() == 0) trust.failed();
    const int64_t accesses = trust.rests();
    trust.rested(accesses, 0);
    return accesses;
  };
  const int64_t first = rest();
  EXPECT_EQ(rest(), 2 * first);
  EXPECT_EQ(rest(), 4 * first);
  for (int i = 0; i < 1000; ++i) trust.foreseen();
  EXPECT_EQ(rest(), first);
}

TEST(SignaturePredictor, DoesNotDisturbARunThatIsContiguous) {
  for (const int sizes : {2, 3}) {
    Play signature(*find_predictor("signature"));
    Play sequential(*find_predictor("sequential"));
    std::mt19937_64 random(4);
    int64_t offset = 0;
    for (int i = 0; i < 10000; ++i) {
      const int64_t length = 1000 * (1 + static_cast<int64_t>(random() % sizes));
      signature.access({offset, length});
      sequential.access({offset, length});
      offset += length;
    }
    EXPECT_EQ(signature.misses(), sequential.misses());
    EXPECT_EQ(signature.fetched_bytes(), sequential.fetched_bytes());
  }
}

// The same bytes in every pass take nothing of the window: the prediction must be bounded, although
// the loop is endless.
TEST(SignaturePredictor, ComesToAnEndOnTheSameBytes) {
  Play play(*find_predictor("signature"));
  for (int i = 0; i < 10000; ++i) {
    play.access({0, 100});
    play.access({50, 100});
    play.access({50, 200});
  }
  EXPECT_LE(play.fetched_bytes(), 10000 * 400);
}

}  // namespace
}  // namespace forebay
