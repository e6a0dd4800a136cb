// The signatures of a job: one per thread and file. Each thread of a process is a stream of its
// own, because the order of accesses of different threads means nothing.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "pattern/folder.h"

namespace forebay::pattern {

struct Stream {
  uint32_t process = 0;
  uint32_t thread = 0;  // within the process
  int32_t file = 0;
  Signature signature;
};

// Columns of a table of accesses (trace/table.h), of one length.
struct StreamColumns {
  std::span<const uint32_t> process, thread;
  std::span<const int32_t> file;
  std::span<const uint16_t> routine;
  std::span<const uint8_t> operation;
  std::span<const int64_t> offset, size, start_ns, end_ns;
  std::span<const uint8_t> folded;
};

class Streams {
 public:
  explicit Streams(Limits limits = {}) : limits_(limits) {}
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  // The folder of the accesses of one thread to one file. Fast if it is the folder of the call
  // before.
  Folder& of(uint32_t process, uint32_t thread, int32_t file) {
    const Key key{process, thread, file};
    if (latest_ == nullptr || latest_key_ != key) {
      latest_ = &folders_.try_emplace(key, limits_).first->second;
      latest_key_ = key;
    }
    return *latest_;
  }

  // Adds the reads and writes among the accesses; those of one thread come in their order. Returns
  // how many of them have no known place. A folded time is that of its block and counts as unknown.
  uint64_t add(const StreamColumns& columns);

  // Returns all signatures, by process, thread and file. There are no streams afterwards.
  std::vector<Stream> finish();

 private:
  using Key = std::tuple<uint32_t, uint32_t, int32_t>;
  Limits limits_;
  std::map<Key, Folder> folders_;
  Folder* latest_ = nullptr;
  Key latest_key_;
};

}  // namespace forebay::pattern
