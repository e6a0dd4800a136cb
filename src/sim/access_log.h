// The data accesses of a job in the order of their starts, in little memory: the input of the
// simulators. A noncontiguous access keeps its view and its position, so that bytes between its
// extents do not count as accessed.
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
  int64_t end_ns = 0;    // before start_ns: unknown
  int64_t offset = 0;    // of the first byte
  int64_t end = 0;       // one past the last byte
  int64_t position = 0;  // of the first data byte in the view, if there is a view
  int64_t bytes = 0;     // data bytes: end - offset, or less through a view
  int32_t view = no_view;
  uint32_t file = 0;
  uint32_t process = 0;
  uint32_t handle = 0;           // the open used; consecutive touches of one handle count once
  uint32_t group = independent;  // the collective open, if the call was collective
  uint16_t routine = 0;
  bool writes = false;
};

// The most memory that one access takes: itself, and its place when accesses are united.
inline constexpr std::size_t log_bytes_per_access = sizeof(DataAccess) + 40;

// Numbers the collective opens, and returns for each open the number of its group. The j-th opens
// of a file by processes whose communicators have the same size belong together. If these are more
// processes than the communicator has ranks, several communicators opened the file; then processes
// with successive numbers are taken to be of one communicator.
std::vector<uint32_t> shared_opens(std::span<const trace::Open> opens);

class AccessLog {
 public:
  explicit AccessLog(uint64_t most_accesses) : most_(most_accesses) {}

  // Reserves memory for `accesses` accesses, but not for more than the limit.
  void reserve(uint64_t accesses) { accesses_.reserve(std::min(accesses, most_)); }

  // The number of processes of each group of opens, for collective accesses.
  void set_group_ranks(std::vector<uint32_t> ranks) { group_ranks_ = std::move(ranks); }
  // The views that accesses refer to by number.
  void set_views(std::vector<Tiling> views) { views_ = std::move(views); }
  // The number of a further view.
  int32_t add_view(Tiling view) {
    views_.push_back(std::move(view));
    return static_cast<int32_t>(views_.size() - 1);
  }

  // Whether the bytes of the access exist: in its view, or between its offset and end.
  bool has_place(const DataAccess& access) const;
  // Adds an access whose bytes exist (has_place). False: no room is left. Accesses of no bytes are
  // left out, and so are those whose view goes backwards or overlaps itself; the latter are
  // counted.
  bool add(const DataAccess& access);
  // Sorts the accesses by start. Accesses that start at the same time keep their order.
  void sort();

  std::span<const DataAccess> accesses() const { return accesses_; }
  std::span<const Tiling> views() const { return views_; }
  std::span<const uint32_t> group_ranks() const { return group_ranks_; }
  const Tiling& view(int32_t number) const { return views_[static_cast<std::size_t>(number)]; }
  uint32_t ranks_of_group(uint32_t group) const { return group_ranks_[group]; }
  uint32_t processes() const { return processes_; }  // one more than the highest number
  uint32_t handles() const { return handles_; }
  bool has_collective() const { return has_collective_; }
  uint64_t backward() const { return backward_; }  // accesses left out because of their view

 private:
  uint64_t most_;
  std::vector<DataAccess> accesses_;
  std::vector<Tiling> views_;
  std::vector<uint8_t> monotone_;  // per view; 0: unknown, 1: yes, 2: no
  std::vector<uint32_t> group_ranks_;
  uint32_t processes_ = 0;
  uint32_t handles_ = 0;
  uint64_t backward_ = 0;
  bool has_collective_ = false;
};

}  // namespace forebay::sim
