// Where the bytes of a file lie when its processes, which share it by a rule, become more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "extent/extent.h"
#include "sim/process_rule.h"
#include "sim/unequal_parts.h"

namespace forebay::sim {

// Sums of a few such numbers have 64 bits.
inline constexpr int64_t most_stretched = std::numeric_limits<int64_t>::max() / 4;
inline constexpr std::string_view too_large = "it would be too large";

// Where the bytes of a file lie once there are more rows.
class Stretch {
 public:
  // Prepares for `more_rows` in place of `rows`. Returns why the rule does not allow it; empty: it
  // does.
  std::string_view make(const Rule& rule, int64_t rows, int64_t more_rows);
  // Prepares for sequences of parts (by place) that grow by so many bytes each. Returns why that is
  // not possible; empty: it is.
  std::string_view make(std::span<const PartSequence> sequences, std::span<const int64_t> growths);

  // The place of a run that all further processes have, too, or that is no part of the rule. It
  // grows with the regions that it holds.
  Extent place(Extent run) const {
    const int64_t begin = run.offset + moved(run.offset);
    int64_t end = run.end() + moved(run.end() - 1);
    if (const Region* last = region_before(run.end() - 1)) {
      if (run.end() == last->end && run.offset <= last->begin) end += last->growth;
    }
    return {begin, end - begin};
  }
  // The place of a run of the rule, `rows` rows after the last one.
  Extent place(const Placed& placed, int64_t rows) const {
    if (placed.step == 0) return place(placed.run);
    const Region* const region = region_before(placed.run.offset);
    return {placed.last + region->shift + rows * placed.step, placed.run.length};
  }
  // Where the sequence's further parts begin.
  int64_t further(const PartSequence& sequence) const {
    return sequence.end() + region_before(sequence.begin())->shift;
  }
  // The largest distance by which a byte moves, of all.
  int64_t growth() const {
    return regions_.empty() ? 0 : regions_.back().shift + regions_.back().growth;
  }

 private:
  // A part of the file that consists of parts, and perhaps gaps.
  struct Region {
    int64_t begin = 0, end = 0;
    int64_t step = 0;    // from row to row, where the parts are of equal size
    int64_t shift = 0;   // by how much it moves, since the regions before it grow
    int64_t growth = 0;  // by how much it grows
  };

  // The last region that begins at or before the offset.
  const Region* region_before(int64_t offset) const {
    const auto after =
        std::upper_bound(regions_.begin(), regions_.end(), offset,
                         [](int64_t at, const Region& region) { return at < region.begin; });
    return after == regions_.begin() ? nullptr : &*(after - 1);
  }
  int64_t moved(int64_t offset) const {
    const Region* const region = region_before(offset);
    if (region == nullptr) return 0;
    return region->shift + (offset < region->end ? 0 : region->growth);
  }

  // Gives the regions, which have their growths, their places.
  std::string_view settle();

  std::vector<Region> regions_;
};

}  // namespace forebay::sim
