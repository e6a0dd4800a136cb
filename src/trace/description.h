// What a trace file says besides its accesses.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "extent/layout.h"

namespace forebay::trace {

// Names and values that describe the process: "rank", "host" and the like.
using ProcessInfo = std::map<std::string, std::string>;

// One open of a file by one process.
struct FileInfo {
  uint32_t number = 0;
  int64_t amode = 0;
  uint32_t ranks = 0;   // of the communicator
  bool cached = false;  // went through the cache
  std::string path;
  bool operator==(const FileInfo&) const = default;
};

// A file view. Number 0 is never written: all bytes from the beginning of the file.
struct ViewInfo {
  uint32_t number = 0;
  Tiling tiling;
};

struct Totals {
  uint64_t accesses = 0;  // calls seen
  uint64_t lost = 0;      // of which no memory or no space was left for
  bool operator==(const Totals&) const = default;
};

}  // namespace forebay::trace
