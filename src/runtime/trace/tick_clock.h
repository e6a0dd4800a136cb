// Time stamps in ticks of the processor as nanoseconds of a clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace forebay::runtime {

// A moment at which both ticks and clock were read.
struct Moment {
  int64_t ticks, ns;
};

// Converts by straight lines between moments, and after the last moment at the average rate since
// the first: two moments that are close together do not give a good rate.
class TickClock {
 public:
  static constexpr int64_t least_apart_ns = 10'000'000;

  TickClock(Moment first, Moment second) : first_(first), moments_{first} { add(second); }

  // Adds a moment. A moment soon after the last one is ignored.
  void calibrate(Moment now) {
    if (now.ns - moments_.back().ns < least_apart_ns) return;
    // Stamps after the last moment may have been converted already. The new line begins at the
    // latest of them, so that no later stamp gets an earlier time. Rounded up: of several threads,
    // stamps before it are still to come, and the line to it must not lie below the one before.
    const Moment told{latest_ticks_, ns(latest_ticks_) + 1};
    if (told.ticks > moments_.back().ticks) {
      if (now.ticks <= told.ticks || now.ns < told.ns) return;
      moments_.push_back(told);
    }
    add(now);
    while (moments_.size() > most) moments_.pop_front();
  }

  int64_t ns(int64_t ticks) {
    latest_ticks_ = std::max(latest_ticks_, ticks);
    const auto later =
        std::upper_bound(moments_.begin() + 1, moments_.end(), ticks,
                         [](int64_t t, const Moment& moment) { return t < moment.ticks; });
    const Moment& begin = *(later - 1);
    const double rate = later == moments_.end() ? rate_ : rate_between(begin, *later);
    return begin.ns + static_cast<int64_t>(static_cast<double>(ticks - begin.ticks) * rate);
  }

 private:
  static constexpr std::size_t most = 1024;

  static double rate_between(Moment begin, Moment end) {
    return static_cast<double>(end.ns - begin.ns) /
           static_cast<double>(std::max<int64_t>(1, end.ticks - begin.ticks));
  }
  void add(Moment now) {
    moments_.push_back(now);
    rate_ = rate_between(first_, now);
  }

  Moment first_;
  std::deque<Moment> moments_;
  double rate_ = 1;           // nanoseconds a tick
  int64_t latest_ticks_ = 0;  // the latest stamp that was converted
};

}  // namespace forebay::runtime
