#include "storage/system_calls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace forebay {

int SystemCalls::open(const char* path, int flags) { return ::open(path, flags); }

int SystemCalls::close(int descriptor) { return ::close(descriptor); }

ssize_t SystemCalls::pwritev(int descriptor, const iovec* segments, int count, int64_t offset) {
  return ::pwritev(descriptor, segments, count, offset);
}

ssize_t SystemCalls::preadv(int descriptor, const iovec* segments, int count, int64_t offset) {
  return ::preadv(descriptor, segments, count, offset);
}

int SystemCalls::fsync(int descriptor) { return ::fsync(descriptor); }

int64_t SystemCalls::size(int descriptor) {
  struct stat status;
  return ::fstat(descriptor, &status) == 0 ? static_cast<int64_t>(status.st_size) : -1;
}

int64_t SystemCalls::modified_ns(int descriptor) {
  struct stat status;
  if (::fstat(descriptor, &status) != 0) return 0;
  return status.st_mtim.tv_sec * int64_t{1'000'000'000} + status.st_mtim.tv_nsec;
}

SystemCalls& SystemCalls::real() {
  static auto* const calls =
      new SystemCalls;  // files may be closed later than statics are destroyed
  return *calls;
}

}  // namespace forebay
