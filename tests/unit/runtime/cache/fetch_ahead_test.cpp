// What is fetched ahead of the program's reads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
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

}  // namespace
}  // namespace forebay::runtime
