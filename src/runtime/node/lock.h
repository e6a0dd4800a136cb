// Locks, events and waiting between processes that share a mapping. A lock whose owner died passes
// to the next process that asks for it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace forebay::runtime {

// A mutex in shared memory. init() once, by the creator of the memory.
class SharedMutex {
 public:
  void init();
  // True: the previous owner died with the lock held, and what the lock guards may be half changed.
  bool lock();
  void unlock();

 private:
  pthread_mutex_t mutex_;
};

// A counter that processes wait on: read it, look at the condition, wait for it to move on.
class SharedEvent {
 public:
  uint32_t now() const { return count_.load(std::memory_order_acquire); }
  // Returns when the counter has left `seen`, or after a tenth of a second at the latest, so that a
  // waiter looks again even if the process that was to signal has died. False: the counter is still
  // `seen`.
  bool wait(uint32_t seen);
  void signal();  // wakes all

 private:
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> waiters_{0};
};

// Waits for a word that another process changes without a signal: looks again at once, then lets
// others run, then sleeps longer and longer, a millisecond at most.
class Backoff {
 public:
  Backoff();
  // Lets others run this often before it sleeps: a sleep takes fifty microseconds at least, so it
  // is not for those that are only microseconds early.
  explicit Backoff(int yields) : yields_(yields) {}
  // True after each sleep of a millisecond: the caller should now check that the process it waits
  // for is still alive.
  bool pause();

 private:
  int yields_;
  int pauses_ = 0;
};

}  // namespace forebay::runtime
