// The data accesses of a job, small and in the order of their starts: what a simulator is fed with.
// Where an access is noncontiguous it keeps its place in its view, so that no byte between its
// extents is taken for one that was asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "extent/layout.h"
#include "trace/job.h"

namespace forebay::sim {

inline constexpr uint32_t independent = std::numeric_limits<uint32_t>::max();
inline constexpr int32_t no_view = -1;

struct DataAccess {
  int64_t start_ns = 0;
  int64_t offset = 0;    // of the first byte
  int64_t end = 0;       // one past the last byte
  int64_t position = 0;  // of the first byte in the view, where there is one
  int64_t bytes = 0;     // end - offset, or less in a view
  int32_t view = no_view;
  uint32_t file = 0;
  uint32_t process = 0;
  uint32_t handle = 0;           // the open by which it was made: consecutive touches count by it
  uint32_t group = independent;  // the collective open, where the call was collective
  uint16_t routine = 0;
  bool writes = false;
};

// What an access takes in memory, at most: itself, and where it goes when requests are united.
inline constexpr std::size_t log_bytes_per_access = sizeof(DataAccess) + 40;

// The opens that processes made together, numbered: of each open the number of its group. The j-th
// opens of a file by each process with a communicator of one size belong together; where these are
// more than the communicator had ranks, several communicators opened the file, and processes that
// follow each other are taken for one's.
std::vector<uint32_t> shared_opens(std::span<const trace::Open> opens);

class AccessLog {
 public:
  explicit AccessLog(uint64_t most_accesses) : most_(most_accesses) {}

  // Takes the memory for so many at once, as far as they are allowed.
  void reserve(uint64_t accesses) { accesses_.reserve(std::min(accesses, most_)); }

  // How many processes open groups have (by number of the group); for collective accesses.
  void set_group_ranks(std::vector<uint32_t> ranks) { group_ranks_ = std::move(ranks); }
  // The views that accesses refer to.
  void set_views(std::vector<Tiling> views) { views_ = std::move(views); }

  // Whether there is a byte where the access says that it is: in its view, or between its ends.
  bool has_place(const DataAccess& access) const;
  // Of an access that has its place. False: there is no room for one more. Accesses without a byte
  // are left out, and counted are those whose view goes backwards or overlaps itself.
  bool add(const DataAccess& access);
  // Brings the accesses into the order of their starts; those that start at once keep theirs.
  void sort();

  std::span<const DataAccess> accesses() const { return accesses_; }
  const Tiling& view(int32_t number) const { return views_[static_cast<std::size_t>(number)]; }
  uint32_t ranks_of_group(uint32_t group) const { return group_ranks_[group]; }
  uint32_t processes() const { return processes_; }  // one more than the highest number
  uint32_t handles() const { return handles_; }
  bool has_collective() const { return has_collective_; }
  uint64_t backward() const { return backward_; }  // left out for their views

 private:
  uint64_t most_;
  std::vector<DataAccess> accesses_;
  std::vector<Tiling> views_;
  std::vector<uint8_t> monotone_;  // of each view: 0 unknown, 1 yes, 2 no
  std::vector<uint32_t> group_ranks_;
  uint32_t processes_ = 0;
  uint32_t handles_ = 0;
  uint64_t backward_ = 0;
  bool has_collective_ = false;
};

}  // namespace forebay::sim
