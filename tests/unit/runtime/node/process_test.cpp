// The number of a process: requested from the system once, and again in each forked child.
#include "runtime/node/process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace forebay::runtime {
namespace {

TEST(ProcessNumber, IsTheChildsOwnAfterAFork) {
  EXPECT_EQ(process_number(), getpid());
  EXPECT_EQ(process_number(), getpid());
  const pid_t child = fork();
  if (child == 0) _exit(process_number() == getpid() && process_number() == getpid() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(process_number(), getpid());
}

}  // namespace
}  // namespace forebay::runtime
