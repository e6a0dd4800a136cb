// The system's calls, on a file system that shows nodes at an open only what others have written.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/posix.h"

namespace forebay::test {

class CloseToOpenCalls final : public SystemCalls {
 public:
  explicit CloseToOpenCalls(bool close_to_open = true) : close_to_open_(close_to_open) {}

  ssize_t pwritev(int descriptor, const iovec* segments, int count, int64_t offset) override {
    note("write");
    return SystemCalls::pwritev(descriptor, segments, count, offset);
  }
  int fsync(int descriptor) override {
    note("flush");
    return SystemCalls::fsync(descriptor);
  }
  bool close_to_open(int) override { return close_to_open_; }
  void refresh(int descriptor) override {
    note("refresh");
    SystemCalls::refresh(descriptor);
  }

  // Opens the file in this file system. `this` outlives the storage.
  StorageOpener opener(const std::string& path) {
    return [this, path](bool readable, bool writable) {
      return open_posix_with(*this, path, readable, writable);
    };
  }
  // What was called since the last time.
  std::vector<std::string> called() {
    const std::lock_guard guard(mutex_);
    return std::exchange(called_, {});
  }

 private:
  void note(const char* call) {
    const std::lock_guard guard(mutex_);
    called_.emplace_back(call);
  }

  const bool close_to_open_;
  std::mutex mutex_;
  std::vector<std::string> called_;
};

}  // namespace forebay::test
