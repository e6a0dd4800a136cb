// Read-ahead by the reads of an earlier run.
#include "predict/recorded.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "extent/seeded_random.h"
#include "pattern/folder.h"

namespace forebay {
namespace {

constexpr int64_t window_bytes = 1 << 20;
constexpr int64_t read_bytes = 1000;

// Places far apart in an order without a rule.
std::vector<Extent> scattered(std::size_t count, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<Extent> reads;
  for (std::size_t i = 0; i < count; ++i)
    reads.push_back({static_cast<int64_t>(i) * 100'000, read_bytes});
  for (std::size_t i = count; i > 1; --i)
    std::swap(reads[i - 1], reads[static_cast<std::size_t>(random.below(static_cast<int64_t>(i)))]);
  return reads;
}

class FollowedReads {
 public:
  explicit FollowedReads(const std::vector<Extent>& recorded) {
    pattern::Folder folder;
    for (const Extent& read : recorded) folder.add({read.offset, read.length, 0});
    auto reads = std::make_shared<const pattern::Signature>(folder.finish());
    predictor_ = std::make_unique<RecordedPredictor>(
        std::move(reads), predictors().front().make(window_bytes, 4096), window_bytes, 4096);
  }
  // Whether the read had been predicted, and not used before.
  bool read(Extent extent) {
    const auto predicted = std::ranges::find_if(ahead_, [&](const Extent& ahead) {
      return ahead.offset <= extent.offset && extent.end() <= ahead.end();
    });
    const bool foretold = predicted != ahead_.end();
    for (const Extent& next : predictor_->access(extent)) {
      ahead_.push_back(next);
      fetched_ += next.length;
    }
    return foretold;
  }
  int64_t fetched_bytes() const { return fetched_; }
  const Predictor& predictor() const { return *predictor_; }

 private:
  std::unique_ptr<Predictor> predictor_;
  std::vector<Extent> ahead_;
  int64_t fetched_ = 0;
};

TEST(RecordedPredictor, KnowsReadsThatNoRuleDescribes) {
  const std::vector<Extent> reads = scattered(500, 1);
  FollowedReads followed(reads);
  EXPECT_TRUE(followed.predictor().predicts());
  EXPECT_FALSE(followed.read(reads[0]));
  for (std::size_t i = 1; i < reads.size(); ++i) EXPECT_TRUE(followed.read(reads[i])) << i;
  EXPECT_EQ(followed.fetched_bytes(), 499 * read_bytes) << "each read once";
}

TEST(RecordedPredictor, PassesOverReadsThatAreLeftOut) {
  const std::vector<Extent> reads = scattered(500, 2);
  FollowedReads followed(reads);
  int foretold = 0, made = 0;
  for (std::size_t i = 0; i < reads.size(); i += 1 + i % 7, ++made)
    foretold += followed.read(reads[i]);
  EXPECT_EQ(foretold, made - 1);
}

TEST(RecordedPredictor, FindsItsPlaceAgain) {
  const std::vector<Extent> reads = scattered(2000, 3);
  FollowedReads followed(reads);
  for (std::size_t i = 0; i < 500; ++i) followed.read(reads[i]);
  for (int64_t other = 0; other < 300; ++other)  // what the earlier run did not read
    followed.read({(int64_t{1} << 40) + other * other * 50'000, 10});
  int foretold = 0;
  for (std::size_t i = 800; i < 2000; ++i) foretold += followed.read(reads[i]);
  EXPECT_GE(foretold, 1200 - 70) << "it looks for its place now and then";
}

TEST(RecordedPredictor, LeavesOtherReadsToAnotherPredictor) {
  FollowedReads followed(scattered(500, 4));
  int foretold = 0;
  for (int64_t i = 0; i < 200; ++i)
    foretold += followed.read({(int64_t{1} << 40) + i * read_bytes, read_bytes});
  EXPECT_GE(foretold, 190) << "a contiguous run";
  EXPECT_LT(followed.fetched_bytes(), 200 * read_bytes + window_bytes);
}

TEST(RecordedPredictor, EndsWithTheRecordedReads) {
  const std::vector<Extent> reads = scattered(20, 5);
  FollowedReads followed(reads);
  for (const Extent& read : reads) followed.read(read);
  EXPECT_FALSE(followed.read({int64_t{1} << 40, read_bytes}));
  EXPECT_EQ(followed.fetched_bytes(), 19 * read_bytes);
  FollowedReads nothing({});
  EXPECT_FALSE(nothing.read({0, read_bytes}));
}

}  // namespace
}  // namespace forebay
