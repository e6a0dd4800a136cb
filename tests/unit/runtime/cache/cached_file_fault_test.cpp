// The cache over failing storage: each storage call fails in turn, once and from then on, with each
// error. Some call must report the fault, no byte whose write succeeded may be lost, and bytes of
// failed writes are old or new.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include "page/page_kind.h"
#include "runtime/cache/cached_file.h"
#include "storage/fault.h"
#include "storage/posix.h"
#include "unit/expectation.h"
#include "unit/temporary_file.h"

namespace forebay::runtime {
namespace {

constexpr int64_t file_bytes = 40'000;

struct Fault {
  Call call;
  int error;
  bool for_ever;
};

class CachedFileFaults : public ::testing::TestWithParam<std::string> {
 protected:
  ~CachedFileFaults() override { leave_node(); }

  Options options() const {
    Options options;
    options.job = "faults-" + std::to_string(getpid());
    options.committer = false;
    options.page_kind = GetParam();
    options.page_size_bytes = 1024;
    options.cache_size_bytes = 8 * 1024;  // evictions throughout
    options.read_ahead_bytes = 0;
    options.write_behind = false;  // its failures would be reported by sync and close again
    options.step_aside = StepAside::never;
    return options;
  }

  std::unique_ptr<CachedFile> open(FaultInjector& calls, const std::string& path) {
    Status status;
    return CachedFile::open(path, OpenMode::read_write, options(), &status,
                            [&calls, path](bool readable, bool writable) {
                              return open_posix_with(calls, path, readable, writable);
                            });
  }

  // One run. Returns whether the fault occurred.
  bool meets(const Fault& fault, int64_t nth) {
    test::TemporaryFile disk;
    FaultInjector calls;
    auto file = open(calls, disk.path());
    if (file == nullptr) {
      ADD_FAILURE() << "not opened";
      return false;
    }
    const int64_t before = calls.calls(fault.call);
    if (fault.for_ever) {
      calls.fail_from(fault.call, nth, fault.error);
    } else {
      calls.fail_once(fault.call, nth, fault.error);
    }
    test::Expectation expected(file_bytes);
    int failures = 0;
    const auto note = [&](const Status& status) {
      failures += status.ok() ? 0 : 1;
      return status.ok();
    };
    std::mt19937 random(7);
    for (int step = 0; step < 70; ++step) {
      const auto length = static_cast<int64_t>(1 + random() % 700);
      const auto offset = static_cast<int64_t>(random() % (file_bytes - 700));
      std::vector<std::byte> bytes(static_cast<std::size_t>(length));
      if (step % 3 != 2) {
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(1 + random() % 255);
        expected.written(offset, bytes, note(file->write(offset, bytes.data(), length)));
      } else {
        int64_t got = 0;
        if (note(file->read(offset, bytes.data(), length, &got))) {
          EXPECT_TRUE(expected.allows(offset, bytes.data(), got));
        }
      }
      if (step % 25 == 24 && note(file->commit())) note(file->flush_storage());
    }
    const bool closed = note(file->close(false));
    const bool met = calls.calls(fault.call) - before >= nth;
    EXPECT_TRUE(!met || failures > 0 || fault.error == EINTR) << "nobody heard of it";
    EXPECT_TRUE(met || failures == 0);
    calls.heal();
    if (!closed) {  // the cache has kept the bytes: the next handle on the file commits them
      auto again = open(calls, disk.path());
      EXPECT_NE(again, nullptr);
      if (again != nullptr) {
        EXPECT_TRUE(again->close(false).ok());
      }
    }
    const std::string content = disk.content();
    EXPECT_TRUE(expected.allows(0, reinterpret_cast<const std::byte*>(content.data()),
                                static_cast<int64_t>(content.size())));
    return met;
  }
};

TEST_P(CachedFileFaults, EveryStorageCallInTurn) {
  for (const Call call : {Call::pwritev, Call::preadv, Call::fsync, Call::size}) {
    for (const int error : {EIO, ENOSPC, EINTR}) {
      for (const bool for_ever : {false, true}) {
        if (error == EINTR && for_ever) continue;            // would be repeated for ever
        if (call == Call::size && error == EINTR) continue;  // fstat is not interrupted
        int64_t nth = 1;
        while (!HasFailure() && meets({call, error, for_ever}, nth)) ++nth;
        ASSERT_FALSE(HasFailure()) << "call kind " << static_cast<int>(call) << ", its " << nth
                                   << "th, error " << error << (for_ever ? ", for ever" : "");
        if (call == Call::pwritev || call == Call::preadv) {
          EXPECT_GT(nth, 10);
        }
      }
    }
  }
}

TEST_P(CachedFileFaults, WhatACloseCouldNotStoreCountsForTheSize) {
  test::TemporaryFile disk;
  FaultInjector calls;
  const std::vector<std::byte> bytes(300, std::byte{7});
  auto file = open(calls, disk.path());
  ASSERT_NE(file, nullptr);
  ASSERT_TRUE(file->write(1000, bytes.data(), 300).ok());
  calls.fail_from(Call::pwritev, 1, ENOSPC);
  EXPECT_FALSE(file->close(false).ok());
  auto again = open(calls, disk.path());
  ASSERT_NE(again, nullptr);
  int64_t size = 0;
  EXPECT_TRUE(again->size(&size).ok());
  EXPECT_EQ(size, 1300);
  again->truncate_cache(1200);
  EXPECT_TRUE(again->size(&size).ok());
  EXPECT_EQ(size, 1200);
  calls.heal();
  EXPECT_TRUE(again->close(false).ok());
  EXPECT_EQ(disk.content().size(), 1200u);
}

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const PageKind* kind : page_kinds()) names.emplace_back(kind->name());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kinds, CachedFileFaults, ::testing::ValuesIn(kinds()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace forebay::runtime
