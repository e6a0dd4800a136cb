// Instant caches as baselines of simulations: what the runtime does not offer.

#include "sim/instant_cache.h"

#include <gtest/gtest.h>

#include "engine/rules.h"

namespace forebay::sim {
namespace {

constexpr int64_t page = 1024;

CacheSettings settings(int64_t page_size, int64_t pages) {
  CacheSettings s;
  s.shape = {find_page_kind("mask"), find_policy("lru"), page_size, pages * page_size, 1};
  s.handles.predictor = find_predictor("sequential");
  s.handles.write_behind = false;
  return s;
}

Access write_of(Extent extent) { return {true, false, nullptr, extent.offset, extent.length}; }
Access read_of(Extent extent) { return {false, false, nullptr, extent.offset, extent.length}; }

// Fills the cache of eight pages, then writes one more page: the requests that this takes.
int64_t requests_of_an_eviction(int64_t commit_size) {
  CacheSettings s = settings(page, 8);
  s.commit_size_bytes = commit_size;
  InstantCache cache(s);
  const auto file = cache.open(1, true, 0);
  for (int64_t i = 0; i < 9; ++i) cache.access(file, write_of({i * page, page}));
  EXPECT_EQ(cache.statistics().evictions, 1);
  EXPECT_EQ(cache.statistics().write_requests, 1);
  return cache.statistics().committed_bytes;
}

TEST(InstantCache, EvictsListsOrPages) {
  EXPECT_EQ(requests_of_an_eviction(4 << 20), 8 * page);
  EXPECT_EQ(requests_of_an_eviction(page), page);
}

TEST(InstantCache, TakesTheVictimsOfOneAccessAsOneList) {
  CacheSettings s = settings(page, 32);
  InstantCache cache(s);
  const auto file = cache.open(1, true, 0);
  // Every other page is dirty, in an order that is not the file's.
  for (int64_t i = 0; i < 32; ++i) cache.access(file, write_of({2 * ((i * 5) % 32) * page, page}));
  const int64_t before = cache.statistics().commit_lists;
  cache.access(file, write_of({100 * page, 8 * page}));
  EXPECT_EQ(cache.statistics().evictions, 8);
  EXPECT_EQ(cache.statistics().write_requests, 8);
  EXPECT_EQ(cache.statistics().commit_lists - before, 1);
}

TEST(InstantCache, GrowsWithinEachShard) {
  constexpr int64_t large = 64 << 10;
  CacheSettings s = settings(large, 48);
  s.shape.shards = 2;  // of a step and a half each; runs of 16 pages take turns
  s.commit_size_bytes = large;
  InstantCache cache(s);
  const auto file = cache.open(1, true, 0);
  for (const Extent pages : {Extent{0, 16}, Extent{16, 16}, Extent{32, 8}, Extent{48, 8}}) {
    for (int64_t i = pages.offset; i < pages.end(); ++i)
      cache.access(file, write_of({i * large, large}));
  }
  EXPECT_EQ(cache.statistics().evictions, 0);
  cache.commit(file, false);
  EXPECT_EQ(cache.statistics().committed_bytes, 48 * large);
}

TEST(InstantCache, HoldsTinyPagesInATinyCache) {
  CacheSettings s = settings(64, 1);
  s.handles.bypass_bytes = beyond_capacity;
  InstantCache cache(s);
  const auto file = cache.open(1, true, 0);
  for (int64_t i = 0; i < 10; ++i) cache.access(file, write_of({i * 64, 64}));
  EXPECT_EQ(cache.statistics().evictions, 9);
  EXPECT_EQ(cache.access(file, read_of({0, 1000})), 640);
}

TEST(InstantCache, BypassesHalfTheCacheOrOnlyWhatItCannotHold) {
  for (const bool baseline : {false, true}) {
    CacheSettings s = settings(page, 8);
    if (baseline) s.handles.bypass_bytes = beyond_capacity;
    InstantCache cache(s);
    const auto file = cache.open(1, true, 0);
    cache.access(file, write_of({0, 8 * page}));
    EXPECT_EQ(cache.statistics().bypass_bytes, baseline ? 0 : 8 * page);
    cache.access(file, write_of({0, 8 * page + 1}));
    EXPECT_EQ(cache.statistics().bypass_bytes, (baseline ? 0 : 8 * page) + 8 * page + 1);
  }
}

}  // namespace
}  // namespace forebay::sim
