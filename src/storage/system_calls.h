// The system calls of storage behind one interface: the operating system's own, or a decorator that
// makes them fail (fault.h). Results and errno are as in POSIX.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>

namespace forebay {

// What a file system notes of a file when it changes. Times are the file system's, in nanoseconds.
struct FileStamp {
  int64_t size = -1;        // bytes; -1: the stamp is not known
  int64_t modified_ns = 0;  // the bytes
  int64_t changed_ns = 0;   // the bytes, or what else is noted of the file
  bool known() const { return size >= 0; }
  bool operator==(const FileStamp&) const = default;
};

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
  virtual FileStamp stamp(int descriptor);      // by fstat
  // By futimens; the time of access stays.
  virtual int set_modified_ns(int descriptor, int64_t modified_ns);
  virtual bool local(int descriptor);  // whether the file system belongs to this node alone
  // Whether the node's kernel keeps bytes that it has read or that were written to it, and shows
  // others at an open only what was written before a close.
  virtual bool close_to_open(int descriptor);
  // The kernel forgets the bytes that it keeps, and asks the file system how long the file is. From
  // then on it reads no further than it is asked to: what it reads by itself may come late.
  virtual void refresh(int descriptor);

  static SystemCalls& real();
};

}  // namespace forebay
