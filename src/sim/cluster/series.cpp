#include "sim/cluster/series.h"

#include <algorithm>
#include <utility>

namespace forebay::sim {

Series::Series(Kernel& kernel, std::function<void(std::vector<int64_t>& counters)> read)
    : kernel_(kernel), read_(std::move(read)) {}

void Series::happen(uint64_t) {
  read();
  kernel_.watch(kernel_.now() + step_, *this);
}

void Series::read() {
  if (!times_.empty() && times_.back() == kernel_.now()) return;
  if (times_.size() == most_readings) thin_out();
  read_(counters_);
  times_.push_back(kernel_.now());
}

// Leaves out every second reading, but not the first.
void Series::thin_out() {
  const std::size_t each = counters_.size() / times_.size();
  std::size_t kept = 0;
  for (std::size_t from = 0; from < times_.size(); from += 2, ++kept) {
    times_[kept] = times_[from];
    std::copy_n(counters_.begin() + static_cast<std::ptrdiff_t>(from * each), each,
                counters_.begin() + static_cast<std::ptrdiff_t>(kept * each));
  }
  times_.resize(kept);
  counters_.resize(kept * each);
  step_ *= 2;
}

}  // namespace forebay::sim
