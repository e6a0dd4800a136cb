// Storage "posix" when system calls fail, are interrupted, or transfer less than requested.
#include "storage/posix.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "storage/fault.h"
#include "unit/temporary_file.h"

namespace forebay {
namespace {

using test::TemporaryFile;

class PosixStorage : public testing::Test {
 protected:
  void SetUp() override {
    OpenedStorage opened = open_posix_with(calls_, file_.path(), true, true);
    ASSERT_TRUE(opened.status.ok());
    storage_ = std::move(opened.storage);
  }

  Status write(int64_t offset, std::string bytes) {
    const Segment segment{reinterpret_cast<std::byte*>(bytes.data()), int64_t(bytes.size())};
    const Request request{offset, {&segment, 1}};
    return storage_->write({&request, 1}, counters_);
  }
  Status read(int64_t offset, std::string& bytes) {
    const Segment segment{reinterpret_cast<std::byte*>(bytes.data()), int64_t(bytes.size())};
    const Request request{offset, {&segment, 1}};
    int64_t transferred = 0;
    const Status status = storage_->read({&request, 1}, {&transferred, 1}, counters_);
    bytes.resize(static_cast<std::size_t>(transferred));
    return status;
  }

  TemporaryFile file_{"0123456789"};
  FaultInjector calls_;
  StorageCounters counters_;
  std::unique_ptr<Storage> storage_;
};

TEST_F(PosixStorage, GoesOnAfterInterruptions) {
  calls_.fail_once(Call::pwritev, 1, EINTR);
  calls_.fail_once(Call::pwritev, 2, EINTR);
  calls_.fail_once(Call::preadv, 1, EINTR);
  calls_.fail_once(Call::fsync, 1, EINTR);
  EXPECT_TRUE(write(3, "abc").ok());
  EXPECT_EQ(counters_.syscalls, 3);
  EXPECT_EQ(counters_.requests, 1);
  std::string bytes(10, '?');
  EXPECT_TRUE(read(0, bytes).ok());
  EXPECT_EQ(bytes, "012abc6789");
  EXPECT_TRUE(storage_->flush().ok());
  EXPECT_EQ(calls_.calls(Call::fsync), 2);
}

TEST_F(PosixStorage, GoesOnAfterShortTransfers) {
  calls_.shorten(3);
  EXPECT_TRUE(write(1, "abcdefgh").ok());
  EXPECT_EQ(counters_.syscalls, 3);
  std::string bytes(20, '?');
  EXPECT_TRUE(read(0, bytes).ok());
  EXPECT_EQ(bytes, "0abcdefgh9");
  EXPECT_EQ(counters_.requests, 2);
  EXPECT_EQ(counters_.syscalls, 3 + 5) << "3, 3, 3, 1 bytes and the end of the file";
}

// Many short segments go through a buffer: in as few calls as one long segment, and in their order,
// also where calls transfer less than requested.
TEST_F(PosixStorage, ManyShortSegmentsAreFewCalls) {
  constexpr int64_t count = 5000, longest = 500, apart = 600, buffer_bytes = 512 << 10;
  std::string content(count * apart, '\0'), stored;
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 % 251);
  std::string memory = content;
  std::vector<Segment> segments;
  for (int64_t i = 0; i < count; ++i) {  // some are empty
    segments.push_back({reinterpret_cast<std::byte*>(&memory[i * apart]), i * 37 % longest});
    stored.append(content, i * apart, segments.back().length);
  }
  const Request request{5, segments};
  for (const int64_t most : {buffer_bytes, int64_t{100'003}}) {
    calls_.shorten(most);
    const int64_t calls = (std::ssize(stored) + most - 1) / most;
    counters_ = {};
    memory = content;
    EXPECT_TRUE(storage_->write({&request, 1}, counters_).ok());
    EXPECT_EQ(counters_.syscalls, calls);
    std::string bytes(stored.size(), '?');
    EXPECT_TRUE(read(5, bytes).ok());
    EXPECT_TRUE(bytes == stored);

    counters_ = {};
    memory.assign(memory.size(), '?');
    int64_t transferred = 0;
    EXPECT_TRUE(storage_->read({&request, 1}, {&transferred, 1}, counters_).ok());
    EXPECT_EQ(transferred, std::ssize(stored));
    EXPECT_EQ(counters_.syscalls, calls);
    std::string expected(memory.size(), '?');
    for (int64_t i = 0; i < count; ++i)
      expected.replace(i * apart, segments[i].length, content, i * apart, segments[i].length);
    EXPECT_TRUE(memory == expected);
    calls_.heal();
  }
}

TEST_F(PosixStorage, SaysWhereTheDiskWasFull) {
  calls_.fill_disk_at(12);
  const Status status = write(5, "abcdefghij");
  EXPECT_EQ(status.code, Code::no_space);
  EXPECT_EQ(status.system_error, ENOSPC);
  EXPECT_EQ(status.offset, 12);
  EXPECT_EQ(file_.content(), "01234abcdefg");
}

TEST_F(PosixStorage, SaysWhereAReadFailed) {
  calls_.shorten(4);
  calls_.fail_once(Call::preadv, 2, EIO);
  std::string bytes(10, '?');
  const Status status = read(0, bytes);
  EXPECT_EQ(status.code, Code::io);
  EXPECT_EQ(status.offset, 4);
  EXPECT_EQ(bytes, "0123");
}

// Each call fails in turn, until none fails any more. Each failure is reported, and the other
// requests of the list reach the file.
TEST_F(PosixStorage, EveryFailedWriteSurfacesAndSparesTheOthers) {
  for (const int64_t length : {int64_t{100}, int64_t{256 << 10}}) {
    for (int64_t nth = 1;; ++nth) {
      const TemporaryFile file;
      FaultInjector calls;
      const auto storage = open_posix_with(calls, file.path(), true, true).storage;
      calls.fail_once(Call::pwritev, nth, EIO);
      std::vector<std::string> memory;
      std::vector<Segment> segments;
      std::vector<Request> requests;
      for (char c = 'a'; c < 'f'; ++c) memory.emplace_back(std::size_t(length), c);
      for (auto& bytes : memory) {
        segments.push_back({reinterpret_cast<std::byte*>(bytes.data()), length});
      }
      for (std::size_t i = 0; i < 5; ++i) {
        requests.push_back({int64_t(i) * length, {&segments[i], 1}});
      }
      StorageCounters counters;
      const Status status = storage->write(requests, counters);
      EXPECT_EQ(counters.requests, 5);
      EXPECT_EQ(counters.syscalls, 5);
      if (nth > 5) {
        EXPECT_TRUE(status.ok());
        break;
      }
      EXPECT_EQ(status.code, Code::io);
      const std::string content = file.content();
      int present = 0;
      for (std::size_t i = 0; i < 5; ++i) {
        const bool here =
            content.compare(i * std::size_t(length), std::size_t(length), memory[i]) == 0;
        present += here;
        if (!here) {
          EXPECT_EQ(status.offset, int64_t(i) * length);
        }
      }
      EXPECT_EQ(present, 4);
    }
  }
}

TEST_F(PosixStorage, TheFirstOfSeveralFailuresIsReturned) {
  std::string bytes(256 << 10, 'x');
  const Segment segment{reinterpret_cast<std::byte*>(bytes.data()), int64_t(bytes.size())};
  std::vector<Request> requests;
  for (int64_t i = 0; i < 6; ++i) requests.push_back({i << 20, {&segment, 1}});
  calls_.fail_from(Call::pwritev, 1, EDQUOT);
  const Status status = storage_->write(requests, counters_);
  EXPECT_EQ(status.code, Code::quota);
  EXPECT_EQ(status.offset, 0);
  calls_.heal();
  EXPECT_TRUE(storage_->write(requests, counters_).ok());
}

TEST_F(PosixStorage, AFailedFlushIsNeverRetriedIntoSuccess) {
  calls_.fail_once(Call::fsync, 1, EIO);
  EXPECT_EQ(storage_->flush().system_error, EIO);
  EXPECT_EQ(storage_->flush().system_error, EIO);
  calls_.fail_once(Call::fsync, 1, ENOSPC);
  EXPECT_EQ(storage_->flush().system_error, EIO) << "the first failure is kept";
}

TEST_F(PosixStorage, FailuresToOpenAndToAskTheSizeSurface) {
  calls_.fail_once(Call::open, 1, EINTR);
  EXPECT_TRUE(open_posix_with(calls_, file_.path(), true, false).status.ok());
  calls_.fail_once(Call::open, 1, EMFILE);
  EXPECT_EQ(open_posix_with(calls_, file_.path(), true, false).status.code, Code::no_memory);
  calls_.fail_once(Call::size, 1, EIO);
  int64_t size = 0;
  EXPECT_EQ(storage_->size(&size).code, Code::io);
}

// Only the descriptor of open_posix is closed, and children do not inherit it.
TEST_F(PosixStorage, ClosesItsDescriptorAndDoesNotPassItOn) {
  class Watch final : public SystemCalls {
   public:
    int open(const char* path, int flags) override {
      EXPECT_TRUE(flags & O_CLOEXEC);
      return descriptor = SystemCalls::open(path, flags);
    }
    int close(int closed) override {
      EXPECT_EQ(closed, descriptor);
      descriptor = -1;
      return SystemCalls::close(closed);
    }
    int descriptor = -1;
  } watch;
  { const auto opened = open_posix_with(watch, file_.path(), true, true); }
  EXPECT_EQ(watch.descriptor, -1);
}

// A slow file system, like one across a network.
class SlowCalls : public SystemCalls {
 public:
  ssize_t preadv(int descriptor, const iovec* segments, int count, int64_t offset) override {
    const int now = ++under_way_;
    for (int most = most_.load(); most < now && !most_.compare_exchange_weak(most, now);) {
    }
    std::this_thread::sleep_for(time_.load());
    const ssize_t got = SystemCalls::preadv(descriptor, segments, count, offset);
    --under_way_;
    return got;
  }
  void take(std::chrono::milliseconds time) { time_ = time; }
  int most_at_once() { return most_.exchange(0); }

 private:
  std::atomic<std::chrono::milliseconds> time_{std::chrono::milliseconds(0)};
  std::atomic<int> under_way_{0};
  std::atomic<int> most_{0};
};

TEST(PosixConcurrency, SmallRequestsOverlapWhereStorageKeepsThemWaiting) {
  const TemporaryFile file{std::string(1000, 'x')};
  SlowCalls calls;
  const std::unique_ptr<Storage> storage =
      std::move(open_posix_with(calls, file.path(), true, false).storage);
  const auto read_list = [&] {
    std::array<std::byte, 64> bytes{};
    std::array<Segment, 16> segments;
    std::array<Request, 16> requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      segments[i] = {&bytes[4 * i], 4};
      requests[i] = {static_cast<int64_t>(50 * i), {&segments[i], 1}};
    }
    std::array<int64_t, 16> transferred{};
    StorageCounters counters;
    EXPECT_TRUE(storage->read(requests, transferred, counters).ok());
    EXPECT_EQ(counters.requests, 16);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{'x'}), 64);
  };
  read_list();
  EXPECT_EQ(calls.most_at_once(), 1) << "nothing is known yet, and the calls take no time";
  calls.take(std::chrono::milliseconds(5));
  read_list();
  EXPECT_EQ(calls.most_at_once(), 1) << "it shows with this list";
  read_list();
  EXPECT_GT(calls.most_at_once(), 1);
}

TEST(PosixDevices, HaveNothingToFlush) {
  const auto opened = open_posix("/dev/null", true, true);
  ASSERT_TRUE(opened.status.ok());
  EXPECT_TRUE(opened.storage->flush().ok());
}

}  // namespace
}  // namespace forebay
