// The control groups that bound this process's memory (cgroup v2, or v1's memory controller). Pages
// of shared memory count against the group of the process that reserves them, and a group that goes
// beyond its limit loses a process.
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

  // Those of this process, as they were when it asked first.
  static const MemoryGroups& mine();
  // `membership` and `mounts` are what /proc/self/cgroup and /proc/self/mountinfo say.
  MemoryGroups(std::string_view membership, std::string_view mounts);

  int64_t limit_bytes() const;  // the lowest of the group and those above it
  // Whether every group can take so many more bytes and leave an eighth of its limit to others.
  // What files have in the kernel's cache counts as free.
  bool have_room_for(int64_t bytes) const;

 private:
  struct Controller;  // the names of its files
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

  std::vector<Level> levels_;  // with a limit
};

}  // namespace forebay::runtime
