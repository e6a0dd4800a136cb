// The owners of a file's bytes: nodes, named by their agents, and who owns which bytes. The first
// ranks of several nodes that open the file together give it its owners; it keeps them as long as
// any node has it open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "agent/address.h"
#include "domain/file_domains.h"

namespace forebay::agent {

struct Owners {
  FileDomains domains;
  std::vector<Address> agents;  // by number of the owner

  static constexpr uint32_t none = 0xffffffffu;
  // The number of the node whose agent has this key; none: it owns nothing.
  uint32_t number_of(const Key& key) const;
  // Identifies them; never 0.
  uint64_t identity() const;

  // As bytes, and back. Empty: these bytes are no owners.
  std::vector<std::byte> encoded() const;
  static std::optional<Owners> decoded(std::span<const std::byte> bytes);
};

}  // namespace forebay::agent
