// The signatures of a job: one for each process and file, folded side by side.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "pattern/folder.h"

namespace forebay::pattern {

struct Stream {
  uint32_t process = 0;
  int32_t file = 0;
  Signature signature;
};

class Streams {
 public:
  explicit Streams(Limits limits = {}) : limits_(limits) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // The folder of what `process` does to `file`. Quick where it is that of the call before.
  Folder& of(uint32_t process, int32_t file) {
    if (latest_ == nullptr || latest_process_ != process || latest_file_ != file) {
      latest_ = &folders_.try_emplace({process, file}, limits_).first->second;
      latest_process_ = process;
      latest_file_ = file;
    }
    return *latest_;
  }

  // All signatures, by process and then by file. There are no streams afterwards.
  std::vector<Stream> finish();

 private:
  Limits limits_;
  std::map<std::pair<uint32_t, int32_t>, Folder> folders_;
  Folder* latest_ = nullptr;
  uint32_t latest_process_ = 0;
  int32_t latest_file_ = 0;
};

}  // namespace forebay::pattern
