// The number of a process: requested from the system once, and again in each forked child. Whether
// a process lives.
#include "runtime/node/process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

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

bool first_thread_has_ended(pid_t pid) {
  std::string text;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), text);
  return text.find(") Z ") != std::string::npos;
}

void* wait_for_the_end_of_a_pipe(void* descriptor) {
  char byte;
  (void)!read(*static_cast<int*>(descriptor), &byte, 1);
  _exit(0);
}

TEST(Alive, AChildIsUntilItHasEnded) {
  int end[2];
  ASSERT_EQ(pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(end[1]);
    wait_for_the_end_of_a_pipe(&end[0]);
  }
  const ProcessId process = process_numbered(child);
  EXPECT_TRUE(alive(process));
  ProcessId earlier = process;
  --earlier.started;
  EXPECT_FALSE(alive(earlier)) << "the number was given to another process";
  close(end[1]);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(alive(process)) << "a zombie";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(alive(process));
  close(end[0]);
}

// The other threads may still write to a file.
TEST(Alive, AProcessIsWhoseFirstThreadHasEnded) {
  static int end[2];
  ASSERT_EQ(pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(end[1]);
    pthread_t other;
    if (pthread_create(&other, nullptr, wait_for_the_end_of_a_pipe, &end[0]) != 0) _exit(1);
    syscall(SYS_exit, 0);  // pthread_exit() would unwind the test
  }
  const ProcessId process = process_numbered(child);
  while (!first_thread_has_ended(child)) poll(nullptr, 0, 1);
  EXPECT_TRUE(alive(process));
  close(end[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(alive(process));
  close(end[0]);
}

TEST(Alive, AProcessIsAsLongAsNobodyCanFindOut) {
  const ProcessId parent = this_process();
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    const bool limited = setrlimit(RLIMIT_NOFILE, &none) == 0;
    _exit(limited && alive(parent) && alive(this_process()) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace forebay::runtime
