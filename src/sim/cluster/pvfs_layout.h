// Where the bytes of a file lie on the servers of a parallel file system: in strips, round robin
// over the servers of a group. The groups take turns, a unit of the file each.
//
// With one group this is simple striping, 1-DH (Yin 2012, II.B). With a server in each group, and a
// unit for each process, all that a process accesses lies on one server: 1-DV. With groups of
// several servers it lies on a part of them: 2-D.
#pragma once

#include <algorithm>
#include <cstdint>

#include "extent/extent.h"

namespace forebay::sim {

class PvfsLayout {
 public:
  // `group_servers` divides `servers`; 0: one group of all. `unit_bytes` matters with several
  // groups.
  PvfsLayout(int64_t strip_bytes, int64_t servers, int64_t group_servers, int64_t unit_bytes)
      : strip_(strip_bytes),
        in_group_(group_servers == 0 ? servers : group_servers),
        groups_(servers / in_group_),
        unit_(groups_ == 1 ? INT64_MAX : unit_bytes) {}

  struct Place {
    uint32_t server;
    Extent extent;  // of the server's part of the file
  };
  // Where the beginning of `extent` lies, as far as it lies on one server in one piece.
  Place place_of(Extent extent) const {
    const int64_t unit = extent.offset / unit_, in_unit = extent.offset % unit_;
    const int64_t group = unit % groups_;
    const int64_t offset = unit / groups_ * unit_ + in_unit;  // in the group
    const int64_t strip = offset / strip_;
    const int64_t length = std::min({extent.length, unit_ - in_unit, strip_ - offset % strip_});
    return {static_cast<uint32_t>(group * in_group_ + strip % in_group_),
            {strip / in_group_ * strip_ + offset % strip_, length}};
  }

  // How much of a file of so many bytes a server has.
  int64_t bytes_on(uint32_t server, int64_t file_bytes) const {
    const int64_t in_group = share(file_bytes, unit_, groups_, server / in_group_);
    return share(in_group, strip_, in_group_, server % in_group_);
  }

  // What the layout is between groups, or with one group between servers.
  int64_t part_bytes() const { return groups_ == 1 ? strip_ : unit_; }
  int64_t parts() const { return groups_ == 1 ? in_group_ : groups_; }

 private:
  // What the one of a number gets of bytes that `all` take in turn, a piece each.
  static int64_t share(int64_t bytes, int64_t piece, int64_t all, int64_t number) {
    if (all == 1) return bytes;
    const int64_t round = piece * all;
    return bytes / round * piece + std::clamp<int64_t>(bytes % round - piece * number, 0, piece);
  }

  int64_t strip_;
  int64_t in_group_;
  int64_t groups_;
  int64_t unit_;
};

}  // namespace forebay::sim
