// An equal part of the region of the first hand-over, or of a first collective access, for each
// owner: the fewest boundaries where one call writes all of it. Bytes outside are dealt out in
// chunks of the same size.
#pragma once

#include "domain/file_domains.h"

namespace forebay {

inline FileDomains assign_region(const DomainFacts& facts) {
  const int64_t unit = facts.unit_of_shares(facts.region.length);
  const int64_t origin = round_down(facts.region.offset, unit);
  return {origin, facts.share_of(facts.region.end() - origin, unit), facts.nodes};
}

}  // namespace forebay
