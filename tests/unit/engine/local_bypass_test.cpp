#include "engine/local_bypass.h"

#include <gtest/gtest.h>

namespace forebay {
namespace {

constexpr int64_t kibibyte = 1024;

TEST(LocalBypass, TakesNothingOfStorageThatIsNotLocal) {
  const LocalBypass bypass;
  EXPECT_FALSE(bypass.takes(INT64_MAX - 1));
}

// A state with local storage, after the first few accesses.
LocalBypass begun() {
  LocalBypass bypass;
  bypass.expect(4 * kibibyte);
  for (int access = 0; access < 5; ++access) bypass.note_read();
  return bypass;
}

TEST(LocalBypass, TakesTheFirstFewAccessesOfAnySize) {
  LocalBypass bypass;
  bypass.expect(4 * kibibyte);
  int taken = 0;
  for (bypass.note_write(300); bypass.takes(300); bypass.note_write(300)) ++taken;
  EXPECT_EQ(taken, 4);
}

// Otherwise a header would keep the records after it from going past the cache.
TEST(LocalBypass, DoesNotCountTheFirstAmongSmallWrites) {
  LocalBypass bypass;
  bypass.expect(4 * kibibyte);
  for (int access = 0; access < 4; ++access) bypass.note_write(300);
  bypass.note_write(47 * kibibyte);
  EXPECT_TRUE(bypass.takes(47 * kibibyte));
}

TEST(LocalBypass, TakesMiddlingAccessesFromTheFirstCallOn) {
  LocalBypass bypass;
  bypass.expect(4 * kibibyte);
  EXPECT_TRUE(bypass.takes(4 * kibibyte));
  bypass = begun();
  EXPECT_FALSE(bypass.takes(4 * kibibyte - 1));
  EXPECT_TRUE(bypass.takes(4 * kibibyte));
}

TEST(LocalBypass, KeepsMiddlingWritesAmongSmallOnes) {
  LocalBypass bypass = begun();
  bypass.note_write(300);
  EXPECT_FALSE(bypass.takes(47 * kibibyte));
  EXPECT_TRUE(bypass.takes(64 * kibibyte));
  for (int call = 0; call < 31; ++call) bypass.note_write(25 * kibibyte);
  EXPECT_FALSE(bypass.takes(47 * kibibyte));
  bypass.note_write(25 * kibibyte);
  EXPECT_TRUE(bypass.takes(47 * kibibyte));
}

TEST(LocalBypass, ForgivesCallsThatLoseTheProcessor) {
  LocalBypass bypass;
  bypass.expect(4 * kibibyte);
  for (int call = 0; call < 1000; ++call)
    bypass.took(call % 2 == 0 ? 4'000'000 : 20'000, 47 * kibibyte);
  EXPECT_TRUE(bypass.takes(47 * kibibyte));
}

TEST(LocalBypass, EndsWhereCallsTakeAsLongAsADevice) {
  LocalBypass bypass;
  bypass.expect(4 * kibibyte);
  int calls = 0;
  for (; bypass.takes(47 * kibibyte) && calls < 1000; ++calls) bypass.took(300'000, 47 * kibibyte);
  EXPECT_LE(calls, 16);
}

TEST(LocalBypass, GrantsLongCallsTheTimeOfACopy) {
  LocalBypass bypass;
  bypass.expect(4 * kibibyte);
  for (int call = 0; call < 1000; ++call) bypass.took(900'000, 1000 * kibibyte);
  EXPECT_TRUE(bypass.takes(1000 * kibibyte));
}

}  // namespace
}  // namespace forebay
