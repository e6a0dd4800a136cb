// Numbers from a seed, the same on every machine: for faults, orders and times that a test can
// repeat.
#pragma once

#include <cstdint>

namespace forebay {

class SeededRandom {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(bound));
  }
  bool one_in(int64_t times) { return below(times) == 0; }

 private:
  uint64_t state_;
};

}  // namespace forebay
