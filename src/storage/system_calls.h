// The system calls of storage behind one interface: the operating system's own, or a decorator that
// makes them fail (fault.h). Results and errno are as in POSIX.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>

namespace forebay {

// Thread rule: any member from any thread.
class SystemCalls {
 public:
  virtual ~SystemCalls() = default;
  virtual int open(const char* path, int flags);
  virtual int close(int descriptor);
  virtual ssize_t pwritev(int descriptor, const iovec* segments, int count, int64_t offset);
  virtual ssize_t preadv(int descriptor, const iovec* segments, int count, int64_t offset);
  virtual int fsync(int descriptor);
  virtual int64_t size(int descriptor);         // fstat's st_size, or -1
  virtual int64_t modified_ns(int descriptor);  // fstat's st_mtim, or 0
  virtual bool local(int descriptor);  // by fstatfs: whether the file system belongs to this node
                                       // alone

  static SystemCalls& real();
};

}  // namespace forebay
