#include "agent/owners.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace forebay::agent {
namespace {

struct Domains {
  int64_t origin;
  int64_t chunk_bytes;
  int64_t round;
  int64_t first_touch;
};

static_assert(std::is_trivially_copyable_v<Address>);

}  // namespace

uint32_t Owners::number_of(const Key& key) const {
  const auto found = std::ranges::find(agents, key, &Address::key);
  return found == agents.end() ? none : static_cast<uint32_t>(found - agents.begin());
}

uint64_t Owners::identity() const { return keyed_hash({}, encoded())[0] | 1; }

std::vector<std::byte> Owners::encoded() const {
  const Domains shape{domains.origin(), domains.chunk_bytes(), domains.round(),
                      int64_t{domains.first_touch()}};
  std::vector<std::byte> bytes(sizeof shape + agents.size() * sizeof(Address));
  std::memcpy(bytes.data(), &shape, sizeof shape);
  std::memcpy(bytes.data() + sizeof shape, agents.data(), agents.size() * sizeof(Address));
  return bytes;
}

std::optional<Owners> Owners::decoded(std::span<const std::byte> bytes) {
  Domains shape{};
  if (bytes.size() <= sizeof shape || (bytes.size() - sizeof shape) % sizeof(Address) != 0)
    return std::nullopt;
  std::memcpy(&shape, bytes.data(), sizeof shape);
  if (shape.chunk_bytes <= 0 || shape.round <= 0) return std::nullopt;
  Owners owners;
  owners.agents.resize((bytes.size() - sizeof shape) / sizeof(Address));
  std::memcpy(owners.agents.data(), bytes.data() + sizeof shape, bytes.size() - sizeof shape);
  const auto nodes = static_cast<uint32_t>(owners.agents.size());
  owners.domains = FileDomains(shape.origin, shape.chunk_bytes, nodes).in_rounds_of(shape.round);
  if (shape.first_touch != 0) {
    if (shape.round != nodes) return std::nullopt;
    owners.domains = owners.domains.by_first_touch();
  }
  return owners;
}

}  // namespace forebay::agent
