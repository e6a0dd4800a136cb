#include "sim/stretch.h"

#include <iterator>
#include <utility>

namespace forebay::sim {

std::string_view Stretch::make(const Rule& rule, int64_t rows, int64_t more_rows) {
  std::vector<Placed> all;
  for (const auto& column : rule.columns) {
    for (const Rule::Calls& calls : column) {
      for (const auto& call : calls)
        std::copy_if(call.begin(), call.end(), std::back_inserter(all),
                     [](const Placed& placed) { return placed.step > 0; });
    }
  }
  std::sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.step, a.run.offset) < std::pair(b.step, b.run.offset);
  });
  // A run begins a region, unless it lies in the part of row 0 or, as the seam of tiles that
  // overlap, in those of the next rows.
  for (const Placed& placed : all) {
    if (placed.last > most_stretched || placed.run.length > most_stretched) return too_large;
    const Region* const before = regions_.empty() ? nullptr : &regions_.back();
    if (before == nullptr || before->step != placed.step ||
        (placed.run.offset - before->begin >= placed.step && placed.run.offset >= before->end))
      regions_.push_back({placed.run.offset, 0, placed.step, 0, 0});
    Region& region = regions_.back();
    region.end = std::max(region.end, placed.last + placed.run.length);
  }
  for (Region& region : regions_) {
    if (__builtin_mul_overflow(region.step, more_rows - rows, &region.growth)) return too_large;
  }
  return settle();
}

std::string_view Stretch::make(std::span<const PartSequence> sequences,
                               std::span<const int64_t> growths) {
  for (std::size_t i = 0; i < sequences.size(); ++i)
    regions_.push_back({sequences[i].begin(), sequences[i].end(), 0, 0, growths[i]});
  return settle();
}

std::string_view Stretch::settle() {
  std::sort(regions_.begin(), regions_.end(),
            [](const Region& a, const Region& b) { return a.begin < b.begin; });
  int64_t shift = 0;
  for (Region& region : regions_) {
    if (region.growth > most_stretched || region.end > most_stretched || shift > most_stretched)
      return too_large;
    region.shift = shift;
    shift += region.growth;
  }
  for (std::size_t i = 1; i < regions_.size(); ++i) {
    if (regions_[i].begin < regions_[i - 1].end)
      return "the parts of its processes lie between those of other accesses";
  }
  return "";
}

}  // namespace forebay::sim
