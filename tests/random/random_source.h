// The seeded random source of the schedule generator: the same numbers on every rank, with every
// standard library.
#pragma once

#include <cstdint>

namespace random_io {

class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : state_(seed) {
    state_ = next() ^ (seed << 32);  // so that the streams of neighbouring seeds differ
  }

  uint64_t next() {
    uint64_t x = (state_ += 0x9E3779B97F4A7C15ull);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(next() % static_cast<uint64_t>(bound));
  }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool one_in(int64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace random_io
