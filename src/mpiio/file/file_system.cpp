#include "mpiio/file/file_system.h"

#include <linux/magic.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "mpiio/job/job.h"

namespace forebay::mpiio {
namespace {

// Not in every header.
constexpr unsigned long smb2 = 0xfe534d42, lustre = 0x0bd00bd0, gpfs = 0x47504653,
                        beegfs = 0x19830326, orangefs = 0x20030528, panfs = 0xaad7aaea,
                        gfs2 = 0x01161970, fuse = 0x65735546;

// Those that show a node at an open what others have written.
constexpr unsigned long close_to_open[] = {NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, smb2,
                                           AFS_SUPER_MAGIC};
constexpr unsigned long coherent[] = {
    lustre, gpfs, beegfs, orangefs, panfs, gfs2, CEPH_SUPER_MAGIC, OCFS2_SUPER_MAGIC, V9FS_MAGIC};

template <std::size_t count>
bool is_among(unsigned long kind, const unsigned long (&kinds)[count]) {
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

// What is mounted there, as the mount names it; "": not known. Each line of the kernel's list has
// the device as third word, and the source is the second word behind a lone "-".
std::string source_of_mount(uint64_t device) {
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string wanted = std::to_string(major(device)) + ':' + std::to_string(minor(device));
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 3; ++i) words >> word;
    if (word != wanted) continue;
    while (words >> word && word != "-") {
    }
    std::string kind, source;
    words >> kind >> source;
    return source;
  }
  return "";
}

bool is_shared(const std::string& path, uint64_t device, unsigned long* kind) {
  struct statfs info;
  if (statfs(path.c_str(), &info) != 0) return false;
  *kind = static_cast<unsigned long>(info.f_type);
  // A server's name is before a colon: "server:/volume".
  if (*kind == fuse) return source_of_mount(device).find(':') != std::string::npos;
  return is_among(*kind, close_to_open) || is_among(*kind, coherent);
}

}  // namespace

bool shows_other_nodes(const std::string& path) {
  struct statfs info;
  return statfs(path.c_str(), &info) != 0 ||
         !is_among(static_cast<unsigned long>(info.f_type), close_to_open);
}

bool is_on_lustre(const std::string& path) {
  struct statfs info;
  return statfs(path.c_str(), &info) == 0 && static_cast<unsigned long>(info.f_type) == lustre;
}

std::optional<uint64_t> place_of(const std::string& path, uint64_t device) {
  static std::mutex mutex;
  static auto& known = *new std::map<uint64_t, std::optional<uint64_t>>;
  const std::lock_guard guard(mutex);
  const auto [place, is_new] = known.try_emplace(device);
  if (!is_new) return place->second;
  unsigned long kind = 0;
  if (is_shared(path, device, &kind)) {
    place->second = kind;
  } else if (const std::string machine = machine_name(); !machine.empty()) {
    place->second = static_cast<uint64_t>(hash_text(machine + '/' + std::to_string(device)));
  }
  return place->second;
}

}  // namespace forebay::mpiio
