// What is fetched ahead of the program's reads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/cache/cached_file.h"
#include "unit/temporary_file.h"

namespace forebay::runtime {
namespace {

constexpr int64_t page_size = 4096;

class FetchAhead : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(disk_.path()) << std::string(64 * page_size, 'x');
    Options options;
    options.job = "fetch-ahead-" + std::to_string(getpid());
    options.deterministic = true;  // at once, not in the background
    options.page_size_bytes = page_size;
    options.cache_size_bytes = 64 * page_size;
    options.read_ahead_bytes = 12 * page_size;
    options.predictor = "sequential";
    Status status;
    file_ = CachedFile::open(disk_.path(), OpenMode::read_only, options, &status);
    ASSERT_NE(file_, nullptr);
  }
  void TearDown() override {
    EXPECT_TRUE(file_->close(false).ok());
    file_.reset();
    leave_node();
  }
  // Reads so many pages in turn, and returns how many were fetched.
  int64_t fetched_pages(int64_t pages) {
    std::vector<std::byte> bytes(page_size);
    for (int64_t page = 0; page < pages; ++page) {
      int64_t got = 0;
      EXPECT_TRUE(file_->read(page * page_size, bytes.data(), page_size, &got).ok());
      EXPECT_EQ(got, page_size);
    }
    return file_->statistics().fetched_bytes / page_size;
  }

  TemporaryFile disk_;
  std::unique_ptr<CachedFile> file_;
};

TEST_F(FetchAhead, TakesWhatComesNext) { EXPECT_GE(fetched_pages(4), 10); }

// Owners have four pages in turn.
TEST_F(FetchAhead, LeavesToOtherNodesWhatTheyOwn) {
  file_->fetch_ahead_of(
      std::make_shared<const OwnPart>(OwnPart{FileDomains(0, 4 * page_size, 8), 0}));
  EXPECT_EQ(fetched_pages(4), 4);  // the next own page is 32
  file_->fetch_ahead_of(nullptr);
  EXPECT_GE(fetched_pages(5), 10);
}

// With domain=first-touch a node knows of some chunks that they are its own.
TEST_F(FetchAhead, TakesChunksThatAreKnownToBeTheNodes) {
  const auto part = std::make_shared<OwnPart>(
      OwnPart{FileDomains(0, 4 * page_size, 2).by_first_touch(), 0, {0, 1}});
  file_->fetch_ahead_of(part);
  EXPECT_EQ(fetched_pages(4), 8);
  part->chunks.insert(2);
  EXPECT_EQ(fetched_pages(8), 12);
  const FileDomains alone = FileDomains(0, 4 * page_size, 1).by_first_touch();
  file_->fetch_ahead_of(std::make_shared<const OwnPart>(OwnPart{alone, 0}));
  EXPECT_GT(fetched_pages(8), 12);
}

// A slow storage of zeros that notes how many transfers are under way at once.
class CrowdedStorage final : public Storage {
 public:
  static constexpr int64_t bytes = 64 << 20;
  int most_at_once() const { return most_.load(); }

  Status size(int64_t* size) override {
    *size = bytes;
    return {};
  }
  Status flush() override { return {}; }

 private:
  void start(Transfer& transfer) override {
    const int now = ++now_;
    int most = most_.load();
    while (most < now && !most_.compare_exchange_weak(most, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    for (std::size_t r = 0; r < transfer.requests().size(); ++r) {
      const Request& request = transfer.requests()[r];
      const int64_t there = std::clamp<int64_t>(bytes - request.offset, 0, length_of(request));
      transfer.outcome(r) = {{}, there, 1};
    }
    --now_;
  }

  std::atomic<int> now_{0}, most_{0};
};

class FetchAheadInParts : public ::testing::Test {
 protected:
  void SetUp() override {
    Options options;
    options.job = "fetch-in-parts-" + std::to_string(getpid());
    options.cache_size_bytes = 64 << 20;
    options.read_ahead_bytes = 8 << 20;
    options.step_aside = StepAside::never;
    Status status;
    const auto opener = [this](bool, bool) -> OpenedStorage {
      auto storage = std::make_unique<CrowdedStorage>();
      storage_ = storage.get();
      return {std::move(storage), {}};
    };
    file_ = CachedFile::open(disk_.path(), OpenMode::read_only, options, &status, opener);
    ASSERT_NE(file_, nullptr);
  }
  void TearDown() override {
    file_->read_from(nullptr);
    EXPECT_TRUE(file_->close(false).ok());
    file_.reset();
    leave_node();
  }
  void read_all() {
    std::vector<std::byte> memory(256 << 10);
    for (int64_t at = 0; at < CrowdedStorage::bytes; at += std::ssize(memory)) {
      int64_t got = 0;
      ASSERT_TRUE(file_->read(at, memory.data(), std::ssize(memory), &got).ok());
      ASSERT_EQ(got, std::ssize(memory));
    }
  }

  TemporaryFile disk_;
  CrowdedStorage* storage_ = nullptr;
  CrowdedStorage owners_;
  std::unique_ptr<CachedFile> file_;
};

TEST_F(FetchAheadInParts, AsksStorageForSeveralAtOnce) {
  read_all();
  EXPECT_GE(storage_->most_at_once(), 3);
  EXPECT_LE(storage_->most_at_once(), 5) << "four threads, and the reader";
}

// Two nodes that fetch from each other's caches wait for each other's pages.
TEST_F(FetchAheadInParts, AsksOwnersForOneAfterTheOther) {
  // The first bytes lie before the owners' first chunk.
  file_->read_from(&owners_, true, FileDomains(3 << 20, 1 << 20, 2));
  read_all();
  EXPECT_LE(owners_.most_at_once(), 2) << "the helper, and the reader";
}

}  // namespace
}  // namespace forebay::runtime
