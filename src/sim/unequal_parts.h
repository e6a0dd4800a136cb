// Parts of unequal sizes: each process has its own share of an array (the blocks of an adaptive
// mesh, its particles), and the parts lie behind each other in the order of the processes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "extent/extent.h"
#include "sim/access_log.h"
#include "sim/process_rule.h"

namespace forebay::sim {

// A place of a file that one member alone accesses, as often as it likes.
struct Part {
  uint32_t member = 0;
  Extent at;
  std::vector<uint32_t> accesses;  // in order
};

// Parts that lie behind each other, those of the first member first.
struct PartSequence {
  std::vector<Part> parts;
  std::vector<int64_t> member_bytes;  // by member

  int64_t begin() const { return parts.front().at.offset; }
  int64_t end() const { return parts.back().at.end(); }
  int64_t bytes() const { return end() - begin(); }
};

struct PartSequences {
  // Those to which at least half of the members contribute. What the first member alone puts before
  // its part (a header) is none of it.
  std::vector<PartSequence> all;
  double bytes = 0;         // of their accesses
  double others_bytes = 0;  // of the other accesses, without those that hold several parts
};

PartSequences find_part_sequences(const AccessLog& log, std::span<const Member> members);

}  // namespace forebay::sim
