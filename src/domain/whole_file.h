// An equal part of the file, as large as it is at the first hand-over, for each owner.
#pragma once

#include <algorithm>

#include "domain/file_domains.h"

namespace forebay {

inline FileDomains assign_file(const DomainFacts& facts) {
  const int64_t end = std::max(facts.file_bytes, facts.region.end());
  return {0, facts.share_of(end, facts.unit_of_shares(end)), facts.nodes};
}

}  // namespace forebay
