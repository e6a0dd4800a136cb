// A named piece of shared memory: a file of the user's own directory under /dev/shm (or a directory
// the user names), created exclusively by one process and mapped by all of the job's on the node.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "extent/status.h"

namespace forebay::runtime {

// The directory for this user's segments, mode 0700 and really ours; "" and a status if not.
std::string segment_directory(const std::string& base, Status* status);

class SharedSegment {
 public:
  // Opens `path`, or creates it: then `bytes` are mapped, the first `reserved_bytes` have memory
  // behind them, and `initialise(base)` runs before anybody else sees the segment. A segment whose
  // creator died before it was ready is replaced. `initialise` must not throw.
  static std::unique_ptr<SharedSegment> join(const std::string& path, std::size_t bytes,
                                             std::size_t reserved_bytes,
                                             const std::function<void(std::byte*)>& initialise,
                                             Status* status);
  // Opens the segment at `path`, of whatever size, that some process has made. Null with success:
  // there is none, or it was never made ready by a process that has died, and is removed.
  static std::unique_ptr<SharedSegment> attach(const std::string& path, Status* status);
  ~SharedSegment();  // unmaps; the file stays
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  std::byte* base() const { return base_; }  // past the segment's own header
  std::size_t bytes() const { return bytes_; }
  // Puts memory behind [offset, offset + length), which nobody has used yet. False: there is none
  // to be had; an eighth of the file system is left to others (MPI libraries keep their queues in
  // /dev/shm).
  bool reserve(std::size_t offset, std::size_t length);
  // Maps those bytes into this process now instead of at the first touch.
  void populate(std::size_t offset, std::size_t length) const;
  void remove();  // unlinks the file, unless another has taken its name
  // Keeps other processes from watch() until this one ends; false: another has it.
  bool watch() const;

 private:
  explicit SharedSegment(std::string path) : path_(std::move(path)) {}
  // What stands under the segment's name.
  enum class Found { nothing, unready, unusable, ready };
  Found look(Status* status);
  bool begin_creation();
  void take(int descriptor, std::byte* mapping, std::size_t bytes);
  Status create(std::size_t bytes, std::size_t reserved_bytes,
                const std::function<void(std::byte*)>& initialise);
  std::string path_;
  int descriptor_ = -1;
  std::byte* mapping_ = nullptr;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace forebay::runtime
