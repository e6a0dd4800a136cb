// SipHash-2-4 with 128 bits of output (Aumasson, Bernstein 2012): by it both ends of a connection
// prove that they know a key, without sending it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::agent {

using Key = std::array<uint64_t, 2>;

Key keyed_hash(const Key& key, std::span<const std::byte> bytes);

// 16 random bytes of the system.
Key random_key();

}  // namespace forebay::agent
