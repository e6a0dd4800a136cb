// The contents of a trace file other than accesses.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "extent/layout.h"

namespace forebay::trace {

// Names and values that describe a process: "rank", "host" and the like.
using ProcessInfo = std::map<std::string, std::string>;

// One open of a file by one process.
struct FileInfo {
  uint32_t number = 0;
  int64_t amode = 0;
  uint32_t ranks = 0;   // number of ranks of the communicator
  bool cached = false;  // whether the cache served it
  std::string path;
  bool operator==(const FileInfo&) const = default;
};

// A file view. View 0 (all bytes from the beginning of the file) is never written.
struct ViewInfo {
  uint32_t number = 0;
  Tiling tiling;
};

struct Totals {
  uint64_t accesses = 0;  // calls seen, recorded or not
  uint64_t lost = 0;      // those that were not recorded, for lack of memory or space
  bool operator==(const Totals&) const = default;
};

}  // namespace forebay::trace
