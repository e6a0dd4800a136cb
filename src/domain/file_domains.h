// Which node owns which bytes of a file. While a job has the file open, every byte has one owner
// (Coloma 2004: persistent file domains): the node that hands it to storage.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>

#include "extent/extent.h"

namespace forebay {

// The file's bytes in chunks of one size, dealt out to the owners in turn. A chunk is a multiple of
// a page, so that a page has one owner.
class FileDomains {
 public:
  // One owner, 0.
  FileDomains() = default;
  // The chunk that begins at `origin` is the first owner's; there are chunks before it, too.
  FileDomains(int64_t origin, int64_t chunk_bytes, uint32_t owners)
      : origin_(origin), chunk_bytes_(chunk_bytes), owners_(owners), round_(owners) {}
  // The same with another round().
  FileDomains in_rounds_of(int64_t chunks) const {
    FileDomains domains = *this;
    domains.round_ = chunks;
    return domains;
  }
  // The same with first_touch(), if there are owners to choose from.
  FileDomains by_first_touch() const {
    FileDomains domains = *this;
    domains.first_touch_ = owners_ > 1;
    return domains;
  }

  // Whether every byte has the same owner, and chunks the same bounds.
  bool operator==(const FileDomains& other) const {
    if (owners_ == 1 || other.owners_ == 1) return owners_ == other.owners_;
    if (chunk_bytes_ != other.chunk_bytes_ || owners_ != other.owners_ || round_ != other.round_ ||
        first_touch_ != other.first_touch_)
      return false;
    const int64_t apart = origin_ - other.origin_;
    return apart % chunk_bytes_ == 0 && apart / chunk_bytes_ % round_ == 0;
  }

  uint32_t owners() const { return owners_; }
  // How many of them own bytes: a round may have fewer chunks.
  uint32_t owners_of_bytes() const {
    return static_cast<uint32_t>(std::min<int64_t>(owners_, round_));
  }
  int64_t origin() const { return origin_; }
  int64_t chunk_bytes() const { return chunk_bytes_; }
  // After so many chunks the assignment begins again: there may be more or fewer than owners.
  int64_t round() const { return round_; }
  // A chunk belongs to the node that first writes to it. owner_of() is the chunk's home, which
  // keeps the record of that node, and serves the chunk as long as no node has written to it.
  bool first_touch() const { return first_touch_; }
  uint32_t owner_of(int64_t offset) const {
    if (owners_ == 1) return 0;
    const int64_t turn = chunk_of(offset) % round_;
    return static_cast<uint32_t>((turn < 0 ? turn + round_ : turn) % owners_);
  }
  // The chunk that contains the offset.
  Extent chunk_at(int64_t offset) const {
    return {origin_ + chunk_of(offset) * chunk_bytes_, chunk_bytes_};
  }
  // The bytes around the offset that have the same owner: its chunk, or all if there is one owner.
  Extent same_owner_at(int64_t offset) const {
    return owners_ == 1 ? Extent{0, INT64_MAX} : chunk_at(offset);
  }
  // How far an owner fetches ahead (option read_ahead), of `wanted` bytes: only a small part of a
  // chunk, since the bytes behind the chunk's end are of no use to it.
  int64_t ahead(int64_t wanted) const {
    constexpr int64_t part = 8;
    return owners_ > 1 ? std::min(wanted, chunk_bytes_ / part) : wanted;
  }
  // The number of that chunk.
  int64_t chunk_of(int64_t offset) const {
    const int64_t distance = offset - origin_;
    return distance >= 0 ? distance / chunk_bytes_
                         : -((chunk_bytes_ - 1 - distance) / chunk_bytes_);
  }

 private:
  int64_t origin_ = 0;
  int64_t chunk_bytes_ = INT64_MAX;
  uint32_t owners_ = 1;
  int64_t round_ = 1;
  bool first_touch_ = false;
};

// What the nodes of a job agree on before they assign a file's bytes.
struct DomainFacts {
  uint32_t nodes = 1;       // that may own bytes
  int64_t unit_bytes = 1;   // a multiple of every node's page size
  int64_t chunk_bytes = 0;  // asked for (option domain_size)
  // That holds all bytes of the first hand-over, or of a first collective access; empty: none.
  Extent region;
  int64_t file_bytes = 0;  // the file's size then
  // How the file system divides the file among its servers; 0: not known.
  int64_t stripe_bytes = 0;
  int64_t servers = 0;
  // Nodes' clients of the file system keep bytes: the node that writes a byte first is best served
  // by its own client.
  bool close_to_open = false;

  // Makes unit_bytes a multiple of a node's page size, too, unless it would be too large to be of
  // use: nodes have pages of one size as a rule.
  void include_page(int64_t page_bytes) {
    constexpr int64_t most = 1 << 30;
    const int64_t both = std::lcm(unit_bytes, page_bytes);
    if (both <= most) unit_bytes = both;
  }

  // What shares of so many bytes are a multiple of: also of a stripe, if a share has one, so that
  // no two owners write to it.
  int64_t unit_of_shares(int64_t bytes) const {
    constexpr int64_t most = 1 << 30;
    if (stripe_bytes <= 0 || stripe_bytes > most) return unit_bytes;
    const int64_t both = std::lcm(unit_bytes, stripe_bytes);
    return both <= std::min(most, bytes / nodes) ? both : unit_bytes;
  }
  // Each owner's share of so many bytes, in whole units; at least one unit.
  int64_t share_of(int64_t bytes, int64_t unit) const {
    return round_up(std::max<int64_t>((bytes + nodes - 1) / nodes, 1), unit);
  }
};

struct AssignmentSpec {
  const char* name;
  const char* meaning;
  FileDomains (*assign)(const DomainFacts& facts);
};

std::span<const AssignmentSpec> assignments();
const AssignmentSpec* find_assignment(std::string_view name);

}  // namespace forebay
