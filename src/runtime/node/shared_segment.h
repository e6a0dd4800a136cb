// A named piece of shared memory: a file in the user's own directory under /dev/shm (or under a
// directory that the user names). One process creates it; all processes of the job on the node map
// it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "extent/status.h"

namespace forebay::runtime {

// The directory for this user's segments, created if need be; "" and a status if it cannot be
// created, or is not a directory of this user with mode 0700.
std::string segment_directory(const std::string& base, Status* status);

class SharedSegment {
 public:
  // Opens the segment at `path`, or creates it. A new segment is `bytes` long, its first
  // `reserved_bytes` have memory behind them, and `initialise(base)` runs before any other process
  // sees it. A segment whose creator died before it was ready is replaced. `initialise` must not
  // throw.
  static std::unique_ptr<SharedSegment> join(const std::string& path, std::size_t bytes,
                                             std::size_t reserved_bytes,
                                             const std::function<void(std::byte*)>& initialise,
                                             Status* status);
  // Opens the existing segment at `path`, whatever its size. Null with success: there is none, or
  // its creator died before it was ready; then it is removed.
  static std::unique_ptr<SharedSegment> attach(const std::string& path, Status* status);
  ~SharedSegment();  // unmaps; the file stays
  SharedSegment(const SharedSegment&) = delete;
  SharedSegment& operator=(const SharedSegment&) = delete;

  std::byte* base() const { return base_; }  // past the segment's own header
  std::size_t bytes() const { return bytes_; }
  // Puts memory behind [offset, offset + length), which nobody has used yet. False: there is no
  // memory for it; an eighth of the file system is left to others (MPI libraries keep their queues
  // in /dev/shm).
  bool reserve(std::size_t offset, std::size_t length);
  // Maps the bytes into this process now instead of at the first touch.
  void populate(std::size_t offset, std::size_t length) const;
  void remove();  // unlinks the file, unless another file has its name now
  // Takes the watch over this segment, until this process ends; false: another process has it.
  bool watch() const;

 private:
  explicit SharedSegment(std::string path) : path_(std::move(path)) {}
  // The state of the file at the segment's path.
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
