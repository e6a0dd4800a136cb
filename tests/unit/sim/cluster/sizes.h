// Sizes that these tests share.
#pragma once

#include <cstdint>

namespace forebay::sim {

inline constexpr int64_t kib = 1 << 10, mib = 1 << 20;

}  // namespace forebay::sim
