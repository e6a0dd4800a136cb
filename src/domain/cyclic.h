// Chunks of a given size, dealt out from the file's beginning: owners share the work whatever part
// of the file is accessed (Coloma 2004, section 4).
#pragma once

#include <algorithm>

#include "domain/file_domains.h"

namespace forebay {

inline FileDomains assign_cyclic(const DomainFacts& facts) {
  const int64_t chunk = round_up(std::max<int64_t>(facts.chunk_bytes, 1), facts.unit_bytes);
  return {0, chunk, facts.nodes};
}

}  // namespace forebay
