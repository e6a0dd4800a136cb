// A RAID group over block devices (Patterson, Gibson and Katz, SIGMOD 1988; RAID 6 with two parity
// units per row). Rows of stripe units run over all members. Parity moves to another member with
// every row ("left-symmetric").
//
// A row that is wholly written is written with its parity, without reading. Of a row that is partly
// written, the old data and the old parity are read first (read-modify-write). Not modelled: failed
// members, locks between concurrent writes of a row, and the time of computing parity.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cluster/block_device.h"

namespace forebay::sim {

enum class RaidLevel { raid0, raid1, raid5, raid6 };

class Raid final : public BlockDevice, private Event {
 public:
  // `members` outlive the group. At least 1, 2, 3 and 4 of them, by level.
  Raid(Kernel& kernel, RaidLevel level, int64_t stripe_unit_bytes,
       std::vector<BlockDevice*> members);
  Raid(const Raid&) = delete;
  Raid& operator=(const Raid&) = delete;

  void submit(bool writes, Extent place, Then done) override;
  const DeviceCounts& counts() const override { return counts_; }  // those of the members are apart
  Picoseconds worked() const override {
    return counts_.busy + (under_way_ > 0 ? kernel_.now() - busy_since_ : 0);
  }
  uint64_t requests() const override { return under_way_; }
  int64_t bytes() const override { return bytes_; }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Request {
    Extent place;
    Then done;
    int64_t left;      // requests of members under way
    int64_t old_left;  // those of them that read old data or parity
    uint32_t next;     // of the free ones
  };
  enum class Part : uint8_t { read, write, read_old };
  struct Member {
    BlockDevice* device;
    int64_t under_way;  // requests
    int64_t place;      // where its last one ended
  };

  void happen(uint64_t word) override;
  void finish(uint32_t request);
  void ask(uint32_t request, Part part, int64_t member, Extent place);

  void mirror(uint32_t request, bool writes);
  void read_data(uint32_t request, Part part, Extent place);
  void write_rows(uint32_t request);
  void update_row(uint32_t request, Part part, Extent place);
  // `place` lies within one row.
  void ask_data(uint32_t request, Part part, Extent place);
  void ask_gathered(uint32_t request, Part part);

  int64_t row_bytes() const { return data_members_ * unit_; }
  int64_t parity_member(int64_t row, int64_t which) const;
  int64_t data_member(int64_t row, int64_t which) const;
  Extent head(Extent place) const;  // the part before the first whole row
  Extent tail(Extent place) const;  // the part after the last whole row

  Kernel& kernel_;
  RaidLevel level_;
  int64_t unit_;
  std::vector<Member> members_;
  int64_t parities_;  // parity units of a row
  int64_t data_members_;
  int64_t bytes_;
  std::vector<Extent> gathered_;  // of each member: what is to be asked in one request
  std::vector<Request> requests_;
  uint32_t free_ = none;
  uint64_t under_way_ = 0;
  Picoseconds busy_since_ = 0;
  DeviceCounts counts_;
};

}  // namespace forebay::sim
