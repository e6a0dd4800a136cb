// Helper threads: each part runs once; several callers; blocked signals; after a fork.
#include "storage/workers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <set>
#include <thread>
#include <vector>

namespace forebay {
namespace {

TEST(Workers, CallEveryPartOnce) {
  Workers workers(3);
  for (std::size_t parts = 0; parts < 40; ++parts) {
    std::vector<std::atomic<int>> called(parts);
    workers.run(parts, [&](std::size_t i) { ++called[i]; });
    for (const auto& count : called) EXPECT_EQ(count.load(), 1);
  }
}

TEST(Workers, ServeSeveralCallers) {
  Workers workers(2);
  std::atomic<int> total{0};
  const auto call = [&] {
    for (int i = 0; i < 200; ++i) workers.run(5, [&](std::size_t) { ++total; });
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back(call);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 200 * 5);
}

TEST(Workers, RunPartsAtOnceWithSignalsBlocked) {
  Workers workers(3);
  std::barrier all_at_once(4);  // completes only if four threads are here at the same time
  std::mutex mutex;
  std::set<std::thread::id> threads;
  int open_to_signals = 0;
  workers.run(4, [&](std::size_t) {
    all_at_once.arrive_and_wait();
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    if (!sigismember(&blocked, SIGUSR1)) ++open_to_signals;
  });
  EXPECT_EQ(threads.size(), 4u);
  EXPECT_EQ(open_to_signals, 1) << "only the caller takes signals";
}

TEST(Workers, AForkedChildWorksAlone) {
  auto workers = std::make_unique<Workers>(3);
  std::atomic<int> called{0};
  workers->run(8, [&](std::size_t) { ++called; });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    workers->run(8, [&](std::size_t) { ++called; });
    workers.reset();
    _exit(called.load() == 16 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace forebay
