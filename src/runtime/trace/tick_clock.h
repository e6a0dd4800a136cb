// Time stamps in ticks of the processor as nanoseconds of a clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace forebay::runtime {

// When ticks and clock were both read.
struct Moment {
  int64_t ticks, ns;
};

// By straight lines between moments, and beyond the last one at the rate over all that were read:
// two that are close together tell none.
class TickClock {
 public:
  static constexpr int64_t least_apart_ns = 10'000'000;

  TickClock(Moment first, Moment second) : first_(first), moments_{first} { add(second); }

  // Of moments that come soon after another nothing is learnt.
  void calibrate(Moment now) {
    if (now.ns - moments_.back().ns < least_apart_ns) return;
    // Stamps of after the last moment may have been told beyond it: the new line begins where that
    // has led, so that no later stamp is told an earlier time.
    const Moment told{latest_ticks_, ns(latest_ticks_)};
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
  int64_t latest_ticks_ = 0;  // of those that were told a time
};

}  // namespace forebay::runtime
