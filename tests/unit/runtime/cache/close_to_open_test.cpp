// A file that several nodes have open, on a file system that shows a node at an open only what
// another has written: what others shall see is flushed, and what others have written is asked for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/cache/cached_file.h"
#include "unit/close_to_open_calls.h"
#include "unit/temporary_file.h"

namespace forebay::runtime {
namespace {

using Called = std::vector<std::string>;

class CloseToOpen : public ::testing::Test {
 protected:
  ~CloseToOpen() override {
    file_.reset();
    leave_node();
  }

  void open(Openers openers, bool close_to_open = true) {
    calls_ = std::make_unique<test::CloseToOpenCalls>(close_to_open);
    Options options;
    options.job = "close-to-open-" + std::to_string(getpid());
    options.openers = openers;
    options.step_aside = StepAside::never;
    options.write_behind = false;
    Status status;
    file_ = CachedFile::open(disk_.path(), OpenMode::read_write, options, &status,
                             calls_->opener(disk_.path()));
    ASSERT_NE(file_, nullptr);
  }
  void write(const std::string& text) {
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    ASSERT_TRUE(file_->write(0, bytes.data(), std::ssize(bytes)).ok());
  }

  test::TemporaryFile disk_;
  std::unique_ptr<test::CloseToOpenCalls> calls_;
  std::unique_ptr<CachedFile> file_;
};

TEST_F(CloseToOpen, NodesShowAndSeeWhatTheyCommitAndForget) {
  ASSERT_NO_FATAL_FAILURE(open(Openers::all));
  EXPECT_EQ(calls_->called(), Called{"refresh"});
  write("bytes");
  EXPECT_EQ(calls_->called(), Called{});
  ASSERT_TRUE(file_->commit().ok());
  EXPECT_EQ(calls_->called(), (Called{"write", "flush"}));
  file_->drop_clean();
  EXPECT_EQ(calls_->called(), Called{"refresh"});
  file_->truncate_cache(3);
  EXPECT_EQ(calls_->called(), Called{"refresh"});
  // A close of the descriptor shows what it wrote.
  write("others");
  ASSERT_TRUE(file_->close(false).ok());
  EXPECT_EQ(calls_->called(), Called{"write"});
}

TEST_F(CloseToOpen, OneNodeSeesItsOwnBytes) {
  ASSERT_NO_FATAL_FAILURE(open(Openers::all_here));
  write("bytes");
  ASSERT_TRUE(file_->commit().ok());
  file_->drop_clean();
  file_->truncate_cache(3);
  write("others");
  ASSERT_TRUE(file_->close(false).ok());
  EXPECT_EQ(calls_->called(), (Called{"write", "write"}));
}

TEST_F(CloseToOpen, OtherFileSystemsShowNodesEverythingAtOnce) {
  ASSERT_NO_FATAL_FAILURE(open(Openers::all, false));
  write("bytes");
  ASSERT_TRUE(file_->commit().ok());
  file_->drop_clean();
  ASSERT_TRUE(file_->close(false).ok());
  EXPECT_EQ(calls_->called(), Called{"write"});
}

}  // namespace
}  // namespace forebay::runtime
