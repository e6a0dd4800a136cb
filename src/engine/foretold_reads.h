// What a rank's reads foretell of bytes that other nodes own. Each owner is told with the next
// question, and fetches its part ahead (Chen 2010: whoever reads says what comes next, and the
// owner, the delegate, fetches it for all).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "domain/file_domains.h"
#include "extent/extent.h"
#include "predict/fetch_list.h"

namespace forebay {

class ForetoldReads {
 public:
  // An owner is told of so many extents at most, and of no longer ones.
  static constexpr std::size_t most_extents = 256;
  static constexpr int64_t most_bytes = 64 << 20;

  static bool possible(const Extent& extent) {
    return FetchList::possible(extent) && extent.length <= most_bytes;
  }

  explicit ForetoldReads(uint32_t owners) : of_owner_(owners) {}

  // The extents lie within chunks.
  void add(std::span<const Extent> extents, const FileDomains& domains) {
    for (const Extent& extent : extents) {
      if (!possible(extent)) continue;
      std::vector<Extent>& list = of_owner_[domains.owner_of(extent.offset)];
      if (list.size() == most_extents) list.clear();  // the rank has not asked this owner for long
      list.push_back(extent);
    }
  }
  // What the owner has not been told yet, valid until the next call.
  std::span<const Extent> take(uint32_t owner) {
    taken_.clear();
    taken_.swap(of_owner_[owner]);
    return taken_;
  }
  void clear() {
    for (std::vector<Extent>& list : of_owner_) list.clear();
  }

 private:
  std::vector<std::vector<Extent>> of_owner_;
  std::vector<Extent> taken_;
};

}  // namespace forebay
