// A process that waits for another one lets it run: it soon sleeps between its checks.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "runtime/cache/cached_file.h"
#include "runtime/node/lock.h"
#include "runtime/node/node_member.h"
#include "unit/temporary_file.h"

namespace {
// Called before each sleep of the test's own thread.
thread_local std::function<void()> before_sleep;
}  // namespace

// Replaces the C library's.
extern "C" int nanosleep(const timespec* length, timespec* rest) {
  if (before_sleep) before_sleep();
  return clock_nanosleep(CLOCK_REALTIME, 0, length, rest);
}

namespace forebay::runtime {
namespace {

class CountedSleeps {
 public:
  explicit CountedSleeps(std::function<void(int)> each = {}) {
    before_sleep = [this, each] {
      ++count_;
      if (each) each(count_);
    };
  }
  ~CountedSleeps() { before_sleep = {}; }
  int count() const { return count_; }

 private:
  int count_ = 0;
};

TEST(Backoff, SleepsAfterAWhileAndAsksAfterTheOwnerNowAndThen) {
  const CountedSleeps sleeps;
  Backoff backoff;
  int looks = 0;
  constexpr int pauses = 200;
  for (int i = 0; i < pauses; ++i) looks += backoff.pause() ? 1 : 0;
  EXPECT_GT(sleeps.count(), 0);
  EXPECT_LT(sleeps.count(), pauses);  // short waits need no sleep
  EXPECT_GT(looks, 0);
  EXPECT_LT(looks, sleeps.count());
}

// A handle within an access keeps a frame. A process that wants to close the frame sleeps
// meanwhile.
TEST(Backoff, WaitsForAFrameInUseAsleep) {
  const test::TemporaryFile disk(std::string(4096, 'x'));
  Options options;
  options.page_size_bytes = options.cache_size_bytes = 3
                                                       << 12;  // an arena of one frame, and its own
  options.step_aside = StepAside::never;
  options.committer = false;
  Status status;
  const auto user = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
  ASSERT_TRUE(status.ok());
  const auto other = CachedFile::open(disk.path(), OpenMode::read_write, options, &status);
  ASSERT_TRUE(status.ok());
  const std::byte byte{1};
  ASSERT_TRUE(user->write(0, &byte, 1).ok());
  Registry& registry = node(options, &status)->registry();
  struct stat info;
  ASSERT_EQ(stat(disk.path().c_str(), &info), 0);
  const std::span<FileEntry> files = registry.made_files();
  const auto entry = std::find_if(files.begin(), files.end(), [&info](const FileEntry& file) {
    return file.in_use() && file.identity.inode == info.st_ino;
  });
  ASSERT_NE(entry, files.end());
  Seat& seat = registry.seats[registry.seats_in_use.load() - 1];
  seat.busy.store(uint64_t{entry->arena} << 32 | 1);  // the first frame of the arena
  const CountedSleeps sleeps([&seat](int count) {
    if (count == 3) seat.busy.store(0);
  });
  user->truncate_cache(0);
  EXPECT_EQ(sleeps.count(), 3);
}

}  // namespace
}  // namespace forebay::runtime
