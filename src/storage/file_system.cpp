#include "storage/file_system.h"

#include <linux/magic.h>

#include <algorithm>
#include <iterator>

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

}  // namespace

FileSystem file_system_of(unsigned long type) {
  if (is_among(type, local)) return FileSystem::local;
  if (is_among(type, coherent)) return FileSystem::coherent;
  if (is_among(type, close_to_open)) return FileSystem::close_to_open;
  return type == fuse ? FileSystem::fuse : FileSystem::unknown;
}

}  // namespace forebay
