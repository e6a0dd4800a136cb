// Who waited for whom in a simulated cluster, and for how long, by hosts of its network: nodes for
// servers, which had requests of theirs, and for each other.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "sim/cluster/kernel.h"

namespace forebay::sim {

// Why a host waits for another.
enum class Waiting : uint8_t {
  request,     // of bytes or metadata: until the answer comes
  lock,        // the other node returns it, after it has sent what it wrote
  owner,       // the other node owns the bytes (scope job)
  collective,  // the last process to come to a collective call is there
};

// Nothing is kept unless keep() was called.
class Waits {
 public:
  struct Key {
    uint32_t host, other;
    Waiting reason;
    bool operator<(const Key& than) const {
      return std::tie(host, other, reason) < std::tie(than.host, than.other, than.reason);
    }
  };
  struct Sum {
    int64_t times = 0;
    Picoseconds time = 0;  // of waits at the same time, each counts
  };

  void keep() { kept_ = true; }
  void add(uint32_t host, uint32_t other, Waiting reason, Picoseconds time) {
    if (!kept_) return;
    Sum& sum = sums_[{host, other, reason}];
    ++sum.times;
    sum.time += time;
  }
  const std::map<Key, Sum>& sums() const { return sums_; }

 private:
  bool kept_ = false;
  std::map<Key, Sum> sums_;
};

}  // namespace forebay::sim
