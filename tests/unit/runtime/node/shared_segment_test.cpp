// Segments whose creators die while they create them.
#include "runtime/node/shared_segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>

namespace forebay::runtime {
namespace {

constexpr std::size_t bytes = 1 << 16;

class SharedSegmentTest : public testing::Test {
 protected:
  SharedSegmentTest() {
    char folder[] = "/tmp/segment-XXXXXX";
    folder_ = mkdtemp(folder);
    path_ = folder_ + "/one";
  }
  ~SharedSegmentTest() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  // A process that dies at `death` while it creates the segment.
  template <typename Death>
  void die_creating(Death death) {
    const pid_t creator = fork();
    if (creator == 0) {
      Status status;
      (void)SharedSegment::join(
          path_, bytes, bytes, [&](std::byte*) { death(); }, &status);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(creator, &status, 0), creator);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  bool exists() const { return access(path_.c_str(), F_OK) == 0; }

  std::string folder_;
  std::string path_;
};

void kill_self() { raise(SIGKILL); }

TEST_F(SharedSegmentTest, OneWhoseCreatorDiedIsMadeAnew) {
  die_creating(kill_self);
  ASSERT_TRUE(exists());
  Status status;
  bool created = false;
  const auto segment = SharedSegment::join(
      path_, bytes, bytes,
      [&](std::byte* base) {
        created = true;
        std::memset(base, 7, bytes);
      },
      &status);
  ASSERT_NE(segment, nullptr) << status.system_error;
  EXPECT_TRUE(created);
  const auto other = SharedSegment::attach(path_, &status);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(std::memcmp(segment->base(), other->base(), bytes), 0);
}

TEST_F(SharedSegmentTest, OneWhoseCreatorDiedIsRemovedByWhoLooksForIt) {
  die_creating(kill_self);
  Status status;
  EXPECT_EQ(SharedSegment::attach(path_, &status), nullptr);
  EXPECT_TRUE(status.ok());
  EXPECT_FALSE(exists());
}

TEST_F(SharedSegmentTest, AFileThatWasNeverMoreThanItsNameIsMadeAnew) {
  const int descriptor = open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0);
  close(descriptor);
  Status status;
  EXPECT_NE(SharedSegment::join(
                path_, bytes, bytes, [](std::byte*) {}, &status),
            nullptr);
}

TEST_F(SharedSegmentTest, OneThatIsBeingMadeIsWaitedFor) {
  int reached[2], go_on[2];
  ASSERT_EQ(pipe(reached), 0);
  ASSERT_EQ(pipe(go_on), 0);
  const pid_t creator = fork();
  char byte = 0;
  if (creator == 0) {
    Status status;
    const auto wait = [&](std::byte* base) {
      base[0] = std::byte{42};
      if (write(reached[1], &byte, 1) != 1 || read(go_on[0], &byte, 1) != 1) _exit(2);
    };
    _exit(SharedSegment::join(path_, bytes, bytes, wait, &status) == nullptr);
  }
  ASSERT_EQ(read(reached[0], &byte, 1), 1);
  std::unique_ptr<SharedSegment> segment;
  Status status;
  std::thread joiner([&] {
    segment = SharedSegment::join(
        path_, bytes, bytes, [](std::byte*) { abort(); }, &status);
  });
  usleep(20'000);
  ASSERT_EQ(write(go_on[1], &byte, 1), 1);
  joiner.join();
  ASSERT_NE(segment, nullptr);
  EXPECT_EQ(segment->base()[0], std::byte{42});
  EXPECT_TRUE(segment->watch());  // the creator no longer holds it
  int ended = 0;
  ASSERT_EQ(waitpid(creator, &ended, 0), creator);
  EXPECT_EQ(ended, 0);
  for (const int end : {reached[0], reached[1], go_on[0], go_on[1]}) close(end);
}

}  // namespace
}  // namespace forebay::runtime
