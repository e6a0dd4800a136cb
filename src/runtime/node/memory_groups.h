// The control groups that bound this process's memory (cgroup v2, or v1's memory controller). Pages
// of shared memory count against the group of the process that reserves them. If a group exceeds
// its limit, the kernel kills one of its processes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::runtime {

class MemoryGroups {
 public:
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  // The groups of this process, as they were at the first call.
  static const MemoryGroups& mine();
  // `membership` and `mounts` are what /proc/self/cgroup and /proc/self/mountinfo say.
  MemoryGroups(std::string_view membership, std::string_view mounts);

  int64_t limit_bytes() const;  // the lowest limit of the group and of the groups above it
  // Whether every group can take `bytes` more and still leave an eighth of its limit to others. The
  // kernel's cache of files counts as free.
  bool have_room_for(int64_t bytes) const;

 private:
  struct Controller;  // the names of a version's files
  struct Level {
    std::string folder;
    const Controller* controller;
    int64_t limit_bytes;
  };
  static const Controller version1, version2;
  MemoryGroups() = default;
  template <typename FindMount>
  void add(std::string_view membership, const FindMount& find);
  static MemoryGroups of_this_process();
  void add_levels(const Controller& controller, std::string folder, const std::string& top);
  static int64_t cached_file_bytes(const Level& level);

  std::vector<Level> levels_;  // groups with a limit
};

}  // namespace forebay::runtime
