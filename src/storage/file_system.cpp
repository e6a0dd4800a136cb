#include "storage/file_system.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

namespace forebay {
namespace {

// Not in every header.
constexpr unsigned long zfs = 0x2fc12fc1, bcachefs = 0xca451a4e, smb2 = 0xfe534d42,
                        gpfs = 0x47504653, beegfs = 0x19830326, orangefs = 0x20030528,
                        panfs = 0xaad7aaea, gfs2 = 0x01161970, fuse = 0x65735546;

constexpr unsigned long local[] = {EXT4_SUPER_MAGIC,
                                   XFS_SUPER_MAGIC,
                                   BTRFS_SUPER_MAGIC,
                                   F2FS_SUPER_MAGIC,
                                   TMPFS_MAGIC,
                                   RAMFS_MAGIC,
                                   zfs,
                                   bcachefs,
                                   OVERLAYFS_SUPER_MAGIC};
constexpr unsigned long coherent[] = {lustre_type, gpfs, beegfs,           orangefs,
                                      panfs,       gfs2, CEPH_SUPER_MAGIC, OCFS2_SUPER_MAGIC,
                                      V9FS_MAGIC};
constexpr unsigned long close_to_open[] = {NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_SUPER_MAGIC, smb2,
                                           AFS_SUPER_MAGIC};

template <std::size_t count>
bool is_among(unsigned long type, const unsigned long (&types)[count]) {
  return std::ranges::find(types, type) != std::end(types);
}

// The type of a device's file system. `ask`: statfs() or fstatfs(), of a file on it.
template <typename Ask>
unsigned long type_of_device(uint64_t device, const Ask& ask) {
  static std::mutex mutex;
  static auto& known =
      *new std::map<uint64_t, unsigned long>;  // outlives what is destroyed at exit
  const std::lock_guard guard(mutex);
  if (const auto told = known.find(device); told != known.end()) return told->second;
  struct statfs info;
  if (ask(&info) != 0) return 0;
  return known.emplace(device, static_cast<unsigned long>(info.f_type)).first->second;
}

}  // namespace

unsigned long file_system_type(int descriptor) {
  struct statx info;  // the device is known without asking the file system
  if (::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &info) != 0) return 0;
  return type_of_device(makedev(info.stx_dev_major, info.stx_dev_minor),
                        [&](struct statfs* into) { return ::fstatfs(descriptor, into); });
}

unsigned long file_system_type(const std::string& path, uint64_t device) {
  return type_of_device(device, [&](struct statfs* into) { return ::statfs(path.c_str(), into); });
}

FileSystem file_system_of(unsigned long type) {
  if (is_among(type, local)) return FileSystem::local;
  if (is_among(type, coherent)) return FileSystem::coherent;
  if (is_among(type, close_to_open)) return FileSystem::close_to_open;
  return type == fuse ? FileSystem::fuse : FileSystem::unknown;
}

}  // namespace forebay
