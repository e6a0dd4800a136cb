// The clocks of the drivers (the core has none).
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <ctime>

namespace forebay::runtime {

inline constexpr int64_t second_ns = 1'000'000'000;

inline int64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * second_ns + now.tv_nsec;
}

// What a piece of work cost this thread: elapsed time if the thread waited for something, otherwise
// processor time. So time during which other threads had the processor is not counted.
class WorkClock {
 public:
  WorkClock()
      : waits_(waits()), elapsed_ns_(now_ns()), processor_ns_(now_ns(CLOCK_THREAD_CPUTIME_ID)) {}
  int64_t cost_ns() const {
    const int64_t processor = processor_ns();
    return waited() ? now_ns() - elapsed_ns_ : processor;
  }
  int64_t processor_ns() const { return now_ns(CLOCK_THREAD_CPUTIME_ID) - processor_ns_; }
  bool waited() const { return waits() != waits_; }

 private:
  static int64_t waits() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
  }
  int64_t waits_;
  int64_t elapsed_ns_;
  int64_t processor_ns_;
};

}  // namespace forebay::runtime
