#include "storage/system_calls.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace forebay {

int SystemCalls::open(const char* path, int flags) { return ::open(path, flags); }

int SystemCalls::close(int descriptor) { return ::close(descriptor); }

// The calls without a list are cheaper for the kernel if there is one segment.
ssize_t SystemCalls::pwritev(int descriptor, const iovec* segments, int count, int64_t offset) {
  if (count == 1) return ::pwrite(descriptor, segments->iov_base, segments->iov_len, offset);
  return ::pwritev(descriptor, segments, count, offset);
}

ssize_t SystemCalls::preadv(int descriptor, const iovec* segments, int count, int64_t offset) {
  if (count == 1) return ::pread(descriptor, segments->iov_base, segments->iov_len, offset);
  return ::preadv(descriptor, segments, count, offset);
}

int SystemCalls::fsync(int descriptor) { return ::fsync(descriptor); }

int64_t SystemCalls::size(int descriptor) {
  struct stat status;
  return ::fstat(descriptor, &status) == 0 ? static_cast<int64_t>(status.st_size) : -1;
}

int64_t SystemCalls::modified_ns(int descriptor) { return stamp(descriptor).modified_ns; }

namespace {

constexpr int64_t second_ns = 1'000'000'000;
int64_t ns_of(const timespec& time) { return time.tv_sec * second_ns + time.tv_nsec; }

}  // namespace

FileStamp SystemCalls::stamp(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return {};
  return {status.st_size, ns_of(status.st_mtim), ns_of(status.st_ctim)};
}

int SystemCalls::set_modified_ns(int descriptor, int64_t modified_ns) {
  const timespec times[2] = {{0, UTIME_OMIT}, {modified_ns / second_ns, modified_ns % second_ns}};
  return ::futimens(descriptor, times);
}

bool SystemCalls::local(int descriptor) {
  constexpr unsigned long zfs = 0x2fc12fc1, bcachefs = 0xca451a4e;  // not in the header
  constexpr unsigned long kinds[] = {EXT4_SUPER_MAGIC,
                                     XFS_SUPER_MAGIC,
                                     BTRFS_SUPER_MAGIC,
                                     F2FS_SUPER_MAGIC,
                                     TMPFS_MAGIC,
                                     RAMFS_MAGIC,
                                     zfs,
                                     OVERLAYFS_SUPER_MAGIC,
                                     bcachefs};
  struct statfs info;
  return ::fstatfs(descriptor, &info) == 0 &&
         std::find(std::begin(kinds), std::end(kinds), static_cast<unsigned long>(info.f_type)) !=
             std::end(kinds);
}

SystemCalls& SystemCalls::real() {
  static auto* const calls =
      new SystemCalls;  // files may be closed later than statics are destroyed
  return *calls;
}

}  // namespace forebay
