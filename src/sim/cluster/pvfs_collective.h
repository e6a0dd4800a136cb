// An operation of all servers of a PVFS file, which pass the request on along a binary tree and
// gather the answers on the way back (Settlemyer 2009, section 3.3.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cluster/pvfs.h"

namespace forebay::sim {

// Server `root` has rank 0, those that follow it the next ones. Rank r asks ranks 2r + 1 and
// 2r + 2, does its own work, and answers once they have.
class Pvfs::Collective final : public Event {
 public:
  explicit Collective(Pvfs& pvfs) : pvfs_(pvfs), left_(pvfs.servers()), bytes_(pvfs.servers()) {}

  // `gathers`: an answer has those of the ranks below, else it is as long as one. Server `busier`
  // has more to do than the others.
  void begin(uint32_t root, const Operation& operation, bool gathers, uint32_t busier,
             Picoseconds more, Then done) {
    root_ = root;
    operation_ = operation;
    gathers_ = gathers;
    busier_ = busier;
    more_ = more;
    done_ = done;
    arrive(0);
  }

  void happen(uint64_t word) override {
    const auto rank = static_cast<uint32_t>(word >> 1);
    if ((word & 1) == arrived) return arrive(rank);
    part_ends(rank);
  }

 private:
  enum : uint64_t { arrived, part_done };
  static uint64_t word_of(uint32_t rank, uint64_t step) { return uint64_t{rank} << 1 | step; }
  uint32_t server_of(uint32_t rank) const { return (root_ + rank) % pvfs_.servers(); }
  uint32_t host_of(uint32_t rank) const { return pvfs_.host_of(server_of(rank)); }

  void arrive(uint32_t rank) {
    left_[rank] = 1;
    bytes_[rank] = operation_.response_bytes;
    for (uint32_t below = 2 * rank + 1; below <= 2 * rank + 2; ++below) {
      if (below >= pvfs_.servers()) break;
      ++left_[rank];
      pvfs_.network_.send(host_of(rank), host_of(below), operation_.request_bytes,
                          {this, word_of(below, arrived)});
    }
    const uint32_t server = server_of(rank);
    pvfs_.work(server, operation_.time + (server == busier_ ? more_ : 0),
               {this, word_of(rank, part_done)});
  }
  void part_ends(uint32_t rank) {
    if (--left_[rank] > 0) return;
    ++pvfs_.servers_[server_of(rank)].counts.requests;
    if (rank == 0) return end();
    const uint32_t above = (rank - 1) / 2;
    if (gathers_) bytes_[above] += bytes_[rank];
    pvfs_.network_.send(host_of(rank), host_of(above), bytes_[rank],
                        {this, word_of(above, part_done)});
  }
  void end() {
    const Then done = done_;
    pvfs_.collectives_.give_back(*this);
    done.happen();
  }

  Pvfs& pvfs_;
  uint32_t root_ = 0;
  Operation operation_{};
  bool gathers_ = false;
  uint32_t busier_ = 0;
  Picoseconds more_ = 0;
  Then done_;
  std::vector<uint32_t> left_;  // by rank: its own work, and the ranks below, that have not ended
  std::vector<int64_t> bytes_;  // by rank: of its answer
};

}  // namespace forebay::sim
