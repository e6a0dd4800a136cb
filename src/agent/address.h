// Where an agent listens, as ranks tell each other over MPI: the node's addresses, a port, and the
// key that callers must know. The key never goes over the agents' own connections.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "agent/keyed_hash.h"

namespace forebay::agent {

// An IPv6 address, or an IPv4 address in IPv6 notation (::ffff:a.b.c.d), in network order. Zero:
// none.
using Ip = std::array<uint64_t, 2>;

// An agent's name in a network that libfabric reaches (src/fabric), as that library gives it.
struct FabricName {
  static constexpr std::size_t most = 64;
  int64_t bytes = 0;  // 0: there is none
  std::array<uint64_t, most / sizeof(uint64_t)> value{};

  static FabricName of(std::span<const std::byte> name);
  // Whether it is a name, as another node may have sent it.
  bool is_sensible() const { return bytes > 0 && bytes <= int64_t{most}; }
  auto operator<=>(const FabricName&) const = default;
};

// Integers of 64 bits only, so that an MPI collective can carry it.
struct Address {
  static constexpr std::size_t most = 6;
  int64_t port = 0;  // 0: there is no agent
  Key key{};
  std::array<Ip, most> ips{};  // of the node's network interfaces, the loopback last
  FabricName fabric;           // with option transport=libfabric
};

// This node's addresses, without port and key. The loopback is among them: "nodes" of one machine
// (option node) may have no other.
Address own_address();

}  // namespace forebay::agent
