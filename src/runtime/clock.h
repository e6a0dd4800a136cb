// The clock of the drivers (the core has none).
#pragma once

#include <cstdint>
#include <ctime>

namespace forebay::runtime {

inline int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace forebay::runtime
