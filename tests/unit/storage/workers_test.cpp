// Helper threads: each part runs once; several callers; blocked signals; after a fork.
#include "storage/workers.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <functional>
#include <semaphore>
#include <set>
#include <thread>
#include <vector>

namespace forebay {
namespace {

void run(Workers& workers, std::size_t parts, const std::function<void(std::size_t)>& part,
         int most_helpers = 3) {
  Workers::Task task(parts, part, most_helpers);
  workers.begin(task);
  workers.finish(task);
}

TEST(Workers, CallEveryPartOnce) {
  Workers workers;
  for (std::size_t parts = 0; parts < 40; ++parts) {
    std::vector<std::atomic<int>> called(parts);
    run(workers, parts, [&](std::size_t i) { ++called[i]; });
    for (const auto& count : called) EXPECT_EQ(count.load(), 1);
  }
}

TEST(Workers, ServeSeveralCallers) {
  Workers workers;
  std::atomic<int> total{0};
  const auto call = [&] {
    for (int i = 0; i < 200; ++i) run(workers, 5, [&](std::size_t) { ++total; });
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back(call);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total.load(), 4 * 200 * 5);
}

// The helpers take the parts of a task that has begun, before anybody waits for it.
TEST(Workers, WorkOnTasksThatNobodyWaitsFor) {
  Workers workers;
  std::binary_semaphore first_done(0);
  std::binary_semaphore second_done(0);
  Workers::Task first(
      1, [&](std::size_t) { first_done.release(); }, 1);
  Workers::Task second(
      1, [&](std::size_t) { second_done.release(); }, 1);
  workers.begin(first);
  workers.begin(second);
  second_done.acquire();
  first_done.acquire();
  workers.finish(second);
  workers.finish(first);
}

TEST(Workers, JoinATaskOnlyUpToItsBound) {
  Workers workers;
  run(
      workers, 8, [](std::size_t) {}, 3);
  std::atomic<int> at_once{0};
  std::atomic<int> most{0};
  run(
      workers, 400,
      [&](std::size_t) {
        const int now = ++at_once;
        for (int seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --at_once;
      },
      1);
  EXPECT_LE(most.load(), 2);
}

TEST(Workers, RunPartsAtOnceWithSignalsBlocked) {
  Workers workers;
  std::barrier all_at_once(4);  // completes only if four threads are here at the same time
  std::mutex mutex;
  std::set<std::thread::id> threads;
  int open_to_signals = 0;
  run(workers, 4, [&](std::size_t) {
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
  auto workers = std::make_unique<Workers>();
  std::atomic<int> called{0};
  run(*workers, 8, [&](std::size_t) { ++called; });
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    run(*workers, 8, [&](std::size_t) { ++called; });
    workers.reset();
    _exit(called.load() == 16 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace forebay
