// A trace file: a head, then blocks, each with its kind, length and checksums, so that a reader
// finds every whole block of a file that was cut off or damaged. docs/trace-format.md describes the
// bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "extent/layout.h"
#include "trace/access_block.h"
#include "trace/bytes.h"

namespace forebay::trace {

enum class BlockKind : uint8_t {
  process = 1,  // names and values: who recorded this
  file = 2,     // one open
  view = 3,     // one file view
  accesses = 4,
  end = 5,  // the last: what was recorded in all, and what was lost
};

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

// Appends to `bytes`; the caller writes them to a file.
class Container {
 public:
  static void begin(Bytes& bytes);
  void process(const ProcessInfo& info, Bytes& bytes);
  void file(const FileInfo& info, Bytes& bytes);
  void view(const ViewInfo& info, Bytes& bytes);
  // False: there is no memory.
  bool accesses(std::span<const Access> accesses, uint32_t thread, Times times, Bytes& bytes);
  void end(const Totals& totals, Bytes& bytes);

 private:
  void block(BlockKind kind, uint32_t count, uint32_t thread, ByteView payload, Bytes& bytes);
  BlockEncoder encoder_;
  uint32_t blocks_ = 0;
};

// What a trace file holds, and what of it could not be read.
struct Content {
  ProcessInfo process;
  std::vector<FileInfo> files;
  std::vector<ViewInfo> views;
  Accesses accesses;
  Totals totals;        // as the end block says; only counted where there is none
  bool ended = false;   // with an end block: the process left in order
  uint64_t folded = 0;  // accesses whose times were folded
  // What is wrong, a sentence each: "block 17, at byte 1234: ..."
  std::vector<std::string> problems;
};

// Reads all that can be read. False: these are no bytes of a trace at all; problems says why.
bool read(ByteView bytes, Content& content);

}  // namespace forebay::trace
