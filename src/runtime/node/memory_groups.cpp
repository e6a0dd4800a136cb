#include "runtime/node/memory_groups.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "extent/text.h"
#include "storage/small_files.h"

namespace forebay::runtime {

struct MemoryGroups::Controller {
  const char* file_system;            // its type in the table of mounts
  const char* option;                 // an option that its mount has; "" for none
  decltype(statfs::f_type) magic;     // of the file system
  std::array<const char*, 2> places;  // its usual mount points; "" for none
  std::array<const char*, 2> limits;  // "" for none
  const char* usage;
  std::array<const char*, 2> file_pages;  // keys of memory.stat
};

const MemoryGroups::Controller MemoryGroups::version1{
    "cgroup",
    "memory",
    CGROUP_SUPER_MAGIC,
    {"/sys/fs/cgroup/memory", ""},
    {"memory.limit_in_bytes", ""},
    "memory.usage_in_bytes",
    {"total_active_file ", "total_inactive_file "}};
// Beyond "high" the kernel slows the group down.
const MemoryGroups::Controller MemoryGroups::version2{"cgroup2",
                                                      "",
                                                      CGROUP2_SUPER_MAGIC,
                                                      {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"},
                                                      {"memory.max", "memory.high"},
                                                      "memory.current",
                                                      {"active_file ", "inactive_file "}};

namespace {

constexpr int64_t share_left_to_others = 8;  // one eighth
// For no limit, version 1 gives the largest number of bytes that is whole pages.
constexpr int64_t version1_unlimited = INT64_MAX - (64 << 10);

bool lists(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    if (cut(list, ',') == name) return true;
  }
  return false;
}

struct Mount {
  std::string_view root;  // the group whose folder is `top`
  std::string_view top;
};

// Finds where the groups of one version are mounted. A line of the table: "ID PARENT DEVICE ROOT
// TOP OPTIONS ... - TYPE SOURCE OPTIONS".
std::optional<Mount> find_mount(std::string_view mounts, std::string_view type,
                                std::string_view option) {
  while (!mounts.empty()) {
    std::string_view line = cut(mounts, '\n');
    const std::size_t separator = line.find(" - ");
    if (separator == std::string_view::npos) continue;
    std::string_view source = line.substr(separator + 3);
    if (cut(source, ' ') != type) continue;
    cut(source, ' ');
    if (!option.empty() && !lists(source, option)) continue;
    for (int field = 0; field < 3; ++field) cut(line, ' ');
    Mount mount;
    mount.root = cut(line, ' ');
    mount.top = cut(line, ' ');
    return mount;
  }
  return std::nullopt;
}

// Whether a file system of type `magic` is mounted at `place` and shows `group`.
bool is_mounted_at(const std::string& place, decltype(statfs::f_type) magic,
                   std::string_view group) {
  struct statfs info;
  return !place.empty() && statfs(place.c_str(), &info) == 0 && info.f_type == magic &&
         !group.starts_with("/..") && access((place + std::string(group)).c_str(), F_OK) == 0;
}

// The folder of `group`, or the top folder if the group is not below the mount's root.
std::string folder_of(const Mount& mount, std::string_view group) {
  const std::string_view root = mount.root == "/" ? "" : mount.root;
  std::string folder(mount.top);
  if (group.starts_with(root) && group != "/") folder += group.substr(root.size());
  return folder;
}

}  // namespace

const MemoryGroups& MemoryGroups::mine() {
  static const MemoryGroups groups = of_this_process();
  return groups;
}

// The table of mounts takes long to read. It is read only if a controller is not at its usual
// places.
MemoryGroups MemoryGroups::of_this_process() {
  MemoryGroups groups;
  std::string mounts;
  groups.add(text_of_file("/proc/self/cgroup"),
             [&](const Controller& controller, std::string_view group) -> std::optional<Mount> {
               for (const char* place : controller.places) {
                 if (is_mounted_at(place, controller.magic, group)) return Mount{"/", place};
               }
               if (mounts.empty()) mounts = text_of_file("/proc/self/mountinfo");
               return find_mount(mounts, controller.file_system, controller.option);
             });
  return groups;
}

MemoryGroups::MemoryGroups(std::string_view membership, std::string_view mounts) {
  add(membership, [&](const Controller& controller, std::string_view) {
    return find_mount(mounts, controller.file_system, controller.option);
  });
}

template <typename FindMount>
void MemoryGroups::add(std::string_view membership, const FindMount& find) {
  while (!membership.empty()) {
    std::string_view line = cut(membership, '\n');
    const std::string_view hierarchy = cut(line, ':');
    const std::string_view controllers = cut(line, ':');
    const bool is_version1 = lists(controllers, "memory");
    if (!is_version1 && hierarchy != "0") continue;
    const Controller& controller = is_version1 ? version1 : version2;
    if (const std::optional<Mount> mount = find(controller, line))
      add_levels(controller, folder_of(*mount, line), std::string(mount->top));
  }
}

// Adds the limits of the folder's group and of the groups above it, up to the mount's top.
void MemoryGroups::add_levels(const Controller& controller, std::string folder,
                              const std::string& top) {
  for (;;) {
    int64_t limit = unlimited;
    for (const char* name : controller.limits) {
      if (*name == '\0') continue;
      limit = std::min(
          limit, leading_number<int64_t>(text_of_file(folder + "/" + name)).value_or(unlimited));
    }
    if (limit < version1_unlimited) levels_.push_back({folder, &controller, limit});
    const std::size_t parent = folder.rfind('/');
    if (parent == std::string::npos || parent < top.size()) return;
    folder.resize(parent);
  }
}

int64_t MemoryGroups::limit_bytes() const {
  int64_t lowest = unlimited;
  for (const Level& level : levels_) lowest = std::min(lowest, level.limit_bytes);
  return lowest;
}

int64_t MemoryGroups::cached_file_bytes(const Level& level) {
  const std::string text = text_of_file(level.folder + "/memory.stat");
  int64_t bytes = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = cut(rest, '\n');
    for (const std::string_view key : level.controller->file_pages) {
      if (line.starts_with(key))
        bytes += leading_number<int64_t>(line.substr(key.size())).value_or(0);
    }
  }
  return bytes;
}

bool MemoryGroups::have_room_for(int64_t bytes) const {
  return std::all_of(levels_.begin(), levels_.end(), [bytes](const Level& level) {
    const int64_t most = level.limit_bytes - level.limit_bytes / share_left_to_others;
    const int64_t used =
        leading_number<int64_t>(text_of_file(level.folder + "/" + level.controller->usage))
            .value_or(0) +
        bytes;
    return used <= most || used - cached_file_bytes(level) <= most;
  });
}

}  // namespace forebay::runtime
