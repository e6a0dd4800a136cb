#include "runtime/node/lock.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace forebay::runtime {

namespace {
constexpr long wait_limit_ns = 100'000'000;
constexpr int spins = 64;  // about as long as a copy within a page takes
constexpr int tries_apart = 8;
constexpr int yields = 64;  // as long as the system needs to put a process to sleep
constexpr long first_sleep_ns = 15'625;
constexpr long longest_sleep_ns = 1'000'000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

void SharedMutex::init() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex_, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

bool SharedMutex::lock() {
  // A lock is mostly free again before a process could be put to sleep.
  int result = pthread_mutex_trylock(&mutex_);
  for (int spin = 1; result == EBUSY && spin < spins; ++spin) {
    relax();
    if (spin % tries_apart == 0) result = pthread_mutex_trylock(&mutex_);
  }
  if (result == EBUSY) result = pthread_mutex_lock(&mutex_);
  if (result != EOWNERDEAD) return false;
  pthread_mutex_consistent(&mutex_);
  return true;
}

void SharedMutex::unlock() { pthread_mutex_unlock(&mutex_); }

bool SharedEvent::wait(uint32_t seen) {
  static_assert(sizeof(count_) == sizeof(uint32_t));
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  const timespec limit{0, wait_limit_ns};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&count_), FUTEX_WAIT, seen, &limit, nullptr, 0);
  waiters_.fetch_sub(1, std::memory_order_relaxed);
  return now() != seen;
}

void SharedEvent::signal() {
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (waiters_.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&count_), FUTEX_WAKE, INT32_MAX, nullptr, nullptr,
          0);
}

Backoff::Backoff() : Backoff(yields) {}

bool Backoff::pause() {
  ++pauses_;
  if (pauses_ <= spins) return false;
  if (pauses_ <= spins + yields_) {
    sched_yield();
    return false;
  }
  const int doublings = std::min(pauses_ - spins - yields_ - 1, 6);
  const timespec sleep{0, first_sleep_ns << doublings};
  nanosleep(&sleep, nullptr);
  pauses_ = std::min(pauses_, spins + yields_ + 7);  // stays at the longest
  return sleep.tv_nsec == longest_sleep_ns;
}

}  // namespace forebay::runtime
