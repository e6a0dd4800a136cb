// Stepping aside in whole workloads: it must happen if storage is as fast as memory, and must not
// if requests are expensive. The storages here differ by orders of magnitude, so the outcome does
// not depend on the machine's load.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "runtime/cache/cached_file.h"
#include "unit/temporary_file.h"

namespace forebay::runtime {
namespace {

// A storage that takes all bytes at once, or `request_delay` after the request. Keeps only the
// size.
class TimedStorage final : public Storage {
 public:
  explicit TimedStorage(std::chrono::microseconds request_delay) : delay_(request_delay) {}

  Status size(int64_t* bytes) override {
    *bytes = end_.load();
    return {};
  }
  Status flush() override { return {}; }

 private:
  void start(Transfer& transfer) override {
    for (std::size_t r = 0; r < transfer.requests().size(); ++r) {
      const Request& request = transfer.requests()[r];
      const int64_t end = request.offset + length_of(request);
      int64_t known = end_.load();
      if (transfer.direction() == Transfer::Direction::write) {
        while (known < end && !end_.compare_exchange_weak(known, end)) {
        }
      }
      transfer.outcome(r) = {{}, length_of(request), 1};
      if (delay_.count() > 0) std::this_thread::sleep_for(delay_);
    }
  }

  const std::chrono::microseconds delay_;
  std::atomic<int64_t> end_{0};
};

class StepAside : public ::testing::Test {
 protected:
  ~StepAside() override { leave_node(); }

  std::unique_ptr<CachedFile> open(std::chrono::microseconds request_delay) {
    Options options;
    options.job = "step-aside-" + std::to_string(getpid());
    Status status;
    auto file = CachedFile::open(disk_.path(), OpenMode::read_write, options, &status,
                                 [request_delay](bool, bool) -> OpenedStorage {
                                   return {std::make_unique<TimedStorage>(request_delay), {}};
                                 });
    EXPECT_NE(file, nullptr);
    return file;
  }

  // Writes `calls` records of `bytes` bytes, one after the other. Returns how many went past the
  // cache.
  static int64_t write_records(CachedFile& file, int64_t calls, int64_t bytes) {
    const std::vector<std::byte> record(static_cast<std::size_t>(bytes), std::byte{7});
    for (int64_t i = 0; i < calls; ++i) {
      EXPECT_TRUE(file.write(i * bytes, record.data(), bytes).ok());
    }
    return file.statistics().aside_calls;
  }

 private:
  test::TemporaryFile disk_;
};

TEST_F(StepAside, LargeWritesLeaveTheCacheWhereStorageIsFaster) {
  auto file = open(std::chrono::microseconds(0));
  EXPECT_GT(write_records(*file, 3000, 256 << 10), 0);
  EXPECT_TRUE(file->close(false).ok());
}

TEST_F(StepAside, SmallWritesStayWhereRequestsAreDear) {
  auto file = open(std::chrono::microseconds(500));
  EXPECT_EQ(write_records(*file, 100'000, 300), 0);
  EXPECT_TRUE(file->close(false).ok());
}

TEST_F(StepAside, AVerdictIsTriedAgain) {
  auto file = open(std::chrono::microseconds(0));
  const int64_t aside = write_records(*file, 6000, 256 << 10);
  // The first decision lasts for 1,024 calls; then the cache is tried before the next decision.
  EXPECT_GT(aside, 1024);
  EXPECT_LT(aside, 6000 - 50);
  EXPECT_TRUE(file->close(false).ok());
}

}  // namespace
}  // namespace forebay::runtime
