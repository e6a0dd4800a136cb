#include "storage/system_calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "storage/file_system.h"

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

namespace {

// Whether the kernel keeps bytes of a file of FUSE. Those that it leaves to the file system's
// process (FOPEN_DIRECT_IO) it does not share as memory. What cannot be asked is taken for kept.
bool kernel_keeps_bytes(int descriptor) {
  void* const memory = ::mmap(nullptr, 1, PROT_READ, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return errno != ENODEV;
  ::munmap(memory, 1);
  return true;
}

}  // namespace

bool SystemCalls::local(int descriptor) {
  return file_system_of(file_system_type(descriptor)) == FileSystem::local;
}

bool SystemCalls::close_to_open(int descriptor) {
  const FileSystem kind = file_system_of(file_system_type(descriptor));
  return kind == FileSystem::close_to_open ||
         (kind == FileSystem::fuse && kernel_keeps_bytes(descriptor));
}

void SystemCalls::refresh(int descriptor) {
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  struct statx ignored;
  (void)::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &ignored);
}

SystemCalls& SystemCalls::real() {
  static auto* const calls =
      new SystemCalls;  // files may be closed later than statics are destroyed
  return *calls;
}

}  // namespace forebay
