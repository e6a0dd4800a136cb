// The file system's stripes: each server stores bytes of one owner only, so owners never wait for
// each other's locks there, and no request lies across two servers.
#pragma once

#include <algorithm>

#include "domain/cyclic.h"

namespace forebay {

inline FileDomains assign_stripe(const DomainFacts& facts) {
  // A page must have one owner.
  if (facts.stripe_bytes <= 0 || facts.stripe_bytes % facts.unit_bytes != 0)
    return assign_cyclic(facts);
  const int64_t servers = facts.servers > 0 ? facts.servers : facts.nodes;
  return FileDomains(0, facts.stripe_bytes, facts.nodes).in_rounds_of(servers);
}

}  // namespace forebay
