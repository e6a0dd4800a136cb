// The informed cache beside Belady's MIN and beside LRU, on accesses that follow patterns, on some
// that do not, and on both together.
#include "sim/informed_cache.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "sim/aggregation.h"
#include "sim/stream.h"
#include "sim/touches.h"

namespace forebay::sim {
namespace {

constexpr int64_t informed_page = 1 << 16;

// A job whose accesses follow each other in the order of the calls.
class Job {
 public:
  void access(uint32_t process, uint32_t file, int64_t offset, int64_t length) {
    DataAccess access;
    access.start_ns = ++time_;
    access.end_ns = time_;
    access.process = process;
    access.file = file;
    access.handle = 4 * process + file;
    access.offset = offset;
    access.end = offset + length;
    access.bytes = length;
    EXPECT_TRUE(log_.add(access));
  }

  Stream stream(int64_t least_past = Caches::never, std::vector<uint32_t> cache_of = {}) {
    log_.sort();
    Caches caches{std::move(cache_of), {least_past}};
    if (!caches.of_process.empty()) caches.least_past.assign(4, least_past);
    Shown shown;
    Progress progress;
    EXPECT_TRUE(original_touches(log_, informed_page, caches, 1 << 22, shown, progress, true));
    return Stream(std::move(shown));
  }

 private:
  AccessLog log_{1 << 22};
  int64_t time_ = 0;
};

struct Hits {
  int64_t informed, lru, min;
};

Hits hits_of(const Stream& stream, uint32_t frames) {
  const std::vector<uint32_t> each(stream.caches(), frames);
  Progress progress;
  const CacheCounts informed = simulate_informed(stream, each, progress);
  EXPECT_EQ(progress.done, stream.touches());
  EXPECT_EQ(informed.hits + informed.misses, static_cast<int64_t>(stream.touches()));
  const Hits hits{informed.hits, simulate(stream, *find_policy("lru"), each, progress).hits,
                  simulate_min(stream, each, progress).hits};
  EXPECT_LE(hits.informed, hits.min) << frames;
  return hits;
}

// How much of MIN's hits is reached. The second and third of equal rounds are not foreseen yet.
double part_of_min(const Hits& hits) {
  EXPECT_GT(hits.min, 0);
  return static_cast<double>(hits.informed) / static_cast<double>(hits.min);
}

TEST(InformedCache, IsNearlyTheOptimumForLoops) {
  Job job;
  for (int round = 0; round < 20; ++round) {
    for (int64_t i = 0; i < 1000; ++i) job.access(0, 0, i * informed_page, informed_page);
  }
  const Stream stream = job.stream();
  for (const uint32_t frames : {125U, 250U, 500U, 900U}) {
    const Hits hits = hits_of(stream, frames);
    EXPECT_EQ(hits.lru, 0) << frames;
    EXPECT_GE(part_of_min(hits), 0.97) << frames;
  }
}

TEST(InformedCache, FollowsEveryProcess) {
  Job job;
  for (int round = 0; round < 60; ++round) {
    for (int64_t i = 0; i < 300; ++i) {
      for (uint32_t process = 0; process < 4; ++process)
        job.access(process, 0, (i * 4 + process) * 47'008, 47'008);
    }
  }
  const Stream stream = job.stream();
  for (const uint32_t frames : {100U, 200U, 400U})
    EXPECT_GE(part_of_min(hits_of(stream, frames)), 0.95) << frames;
}

// Accesses at random are as well off as with LRU, beside a loop much better.
TEST(InformedCache, MixesWhatIsForeseenWithWhatIsNot) {
  std::mt19937_64 random(7);
  const auto skewed = [&](uint64_t pages) {
    return static_cast<int64_t>(std::min({random() % pages, random() % pages, random() % pages}));
  };
  Job alone, beside;
  for (int64_t i = 0; i < 30'000; ++i) {
    const int64_t place = skewed(2000) * informed_page;
    alone.access(1, 1, place, informed_page);
    beside.access(1, 1, place, informed_page);
    beside.access(0, 0, i % 1500 * informed_page, informed_page);
  }
  for (const uint32_t frames : {100U, 500U, 1500U}) {
    const Hits hits = hits_of(alone.stream(), frames);
    EXPECT_GE(hits.informed, hits.lru - hits.lru / 50) << frames;
  }
  const Hits hits = hits_of(beside.stream(), 1500);
  EXPECT_GT(hits.informed, hits.lru + hits.lru / 3);
}

TEST(InformedCache, ForeseesNoPageOfWhatGoesPastIt) {
  Job job;
  for (int round = 0; round < 12; ++round) {
    for (int64_t i = 0; i < 200; ++i) {
      job.access(0, 0, i * 10 * informed_page, 8 * informed_page);  // past it
      job.access(0, 0, (i * 10 + 9) * informed_page, 100);
    }
  }
  const Stream stream = job.stream(4 * informed_page);
  EXPECT_EQ(stream.touches(), 12U * 200);
  EXPECT_GE(part_of_min(hits_of(stream, 100)), 0.9);
}

TEST(InformedCache, SeveralCachesAreInformedEachByItsProcesses) {
  Job job;
  for (int round = 0; round < 12; ++round) {
    for (int64_t i = 0; i < 100; ++i) {
      for (uint32_t process = 0; process < 4; ++process)
        job.access(process, process % 2, (i * 4 + process) * informed_page, informed_page);
    }
  }
  const Stream stream = job.stream(Caches::never, {0, 1, 3, 1});
  EXPECT_EQ(stream.caches(), 4U);
  EXPECT_GE(part_of_min(hits_of(stream, 50)), 0.9);
}

// Block ids have no places; what is foreseen is the order of the first touches.
TEST(InformedCache, ForeseesRepetitionsOfBlockIds) {
  std::mt19937_64 random(3);
  std::vector<PageKey> ids;
  for (int64_t i = 0; i < 500; ++i) ids.push_back({1, static_cast<int64_t>(random() >> 2)});
  std::vector<PageKey> keys;
  for (int round = 0; round < 20; ++round) keys.insert(keys.end(), ids.begin(), ids.end());
  EXPECT_GE(part_of_min(hits_of(Stream(std::move(keys)), 200)), 0.95);
}

// Loops of any shape that break off at any place, by several processes in one cache of any size.
TEST(InformedCache, CountsRightWhateverTheProcessesDo) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    Job job;
    for (int part = 0; part < 12; ++part) {
      const auto process = static_cast<uint32_t>(random() % 3);
      const auto file = static_cast<uint32_t>(random() % 2);
      const auto begin = static_cast<int64_t>(random() % 100) * 9000;
      const auto step = static_cast<int64_t>(random() % 200'000) - 50'000;
      const auto length = static_cast<int64_t>(random() % 150'000) + 1;
      const auto count = static_cast<int64_t>(random() % 40) + 1;
      for (auto round = random() % 5 + 1; round > 0; --round) {
        for (int64_t i = 0; i < count; ++i) {
          const int64_t offset = begin + i * step;
          if (offset >= 0) job.access(process, file, offset, length);
          if (random() % 50 == 0) job.access((process + 1) % 3, file, begin, 10);
        }
      }
    }
    const Stream stream = job.stream(random() % 2 == 0 ? Caches::never : 100'000);
    for (const uint32_t frames : {0U, 1U, 3U, 20U, 1000U}) hits_of(stream, frames);
  }
}

TEST(InformedCache, NeedsTheAccesses) {
  AccessLog log(100);
  DataAccess access;
  access.end = access.bytes = 10;
  log.add(access);
  log.sort();
  Shown plain, with_pieces;
  Progress progress;
  ASSERT_TRUE(original_touches(log, 10, {}, 100, plain, progress));
  ASSERT_TRUE(original_touches(log, 10, {}, 100, with_pieces, progress, true));
  EXPECT_FALSE(original_touches(log, 10, {}, 0, plain, progress, true));
  EXPECT_TRUE(Stream(std::move(with_pieces)).has_order());
  Shown united;
  ASSERT_TRUE(aggregated_touches(log, 10, Caches::never, {}, 100, united, progress, true));
  EXPECT_TRUE(Stream(std::move(united)).has_order());
}

}  // namespace
}  // namespace forebay::sim
