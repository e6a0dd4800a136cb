// What the parts of a cluster had done by when: their counters, read at equal steps of time. When
// there would be too many readings, every second one is left out and the step doubles. Counters
// grow, so nothing that they counted is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/cluster/kernel.h"

namespace forebay::sim {

class Series final : private Event {
 public:
  static constexpr std::size_t most_readings = 1024;

  // `read` appends the counters, always as many. `kernel` outlives the series.
  Series(Kernel& kernel, std::function<void(std::vector<int64_t>& counters)> read);
  Series(const Series&) = delete;
  Series& operator=(const Series&) = delete;

  // Reads now, and from now on while anything happens.
  void begin() { happen(0); }
  // Reads for the last time.
  void end() { read(); }

  const std::vector<Picoseconds>& times() const { return times_; }
  // The counters of each reading, one reading after the other.
  const std::vector<int64_t>& counters() const { return counters_; }

 private:
  void happen(uint64_t) override;
  void read();
  void thin_out();

  Kernel& kernel_;
  std::function<void(std::vector<int64_t>&)> read_;
  Picoseconds step_ = 10 * microsecond;
  std::vector<Picoseconds> times_;
  std::vector<int64_t> counters_;
};

}  // namespace forebay::sim
