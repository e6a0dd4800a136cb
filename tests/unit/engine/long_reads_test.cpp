#include "engine/long_reads.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr int64_t long_read = 1 << 20;

// Reads that each take `storage_ns`, with pauses between them.
LongReads reads_of(int64_t storage_ns, int64_t pause_ns, int reads) {
  LongReads long_reads;
  int64_t now_ns = 1000;
  for (int read = 0; read < reads; ++read, now_ns += storage_ns + pause_ns)
    long_reads.note({now_ns, now_ns + storage_ns, long_read, storage_ns, long_read});
  return long_reads;
}

TEST(LongReads, AreFetchedAheadWhereTheProgramPauses) {
  EXPECT_FALSE(LongReads().worth_fetching_ahead());
  EXPECT_FALSE(reads_of(2'000'000, 10'000'000, 1).worth_fetching_ahead());  // no pause is known
  EXPECT_TRUE(reads_of(2'000'000, 10'000'000, 2).worth_fetching_ahead());
  EXPECT_TRUE(reads_of(2'000'000, 600'000, 8).worth_fetching_ahead());
  EXPECT_FALSE(reads_of(2'000'000, 20'000, 8).worth_fetching_ahead());
}

TEST(LongReads, AreNotFetchedAheadWhereStorageIsAsQuickAsACopy) {
  EXPECT_FALSE(reads_of(200'000, 10'000'000, 8).worth_fetching_ahead());
}

TEST(LongReads, StillKnowStorageWhenTheCacheServesThem) {
  LongReads long_reads = reads_of(2'000'000, 10'000'000, 4);
  int64_t now_ns = 100'000'000;
  for (int read = 0; read < 100; ++read, now_ns += 10'000'000)
    long_reads.note({now_ns, now_ns + 100'000, long_read, 0, 0});
  EXPECT_TRUE(long_reads.worth_fetching_ahead());
  for (int read = 0; read < 40; ++read, now_ns += 110'000)  // the program no longer pauses
    long_reads.note({now_ns, now_ns + 100'000, long_read, 0, 0});
  EXPECT_FALSE(long_reads.worth_fetching_ahead());
}

TEST(LongReads, KnowNothingAfterTheEndOfTheFile) {
  LongReads long_reads = reads_of(2'000'000, 10'000'000, 4);
  long_reads.note({200'000'000, 200'100'000, 0, 0, 0});
  EXPECT_FALSE(long_reads.worth_fetching_ahead());
}

}  // namespace
}  // namespace forebay
