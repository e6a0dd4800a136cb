// Reads a trace file without holding it in memory. The outline comes first: everything but the
// accesses, and where the accesses are. Then accesses are decoded one block at a time. The memory
// of an outline is in proportion to the file. That of decoded accesses is not (65,536 equal ones
// take some sixty bytes of a file), so the caller limits their number.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/access_block.h"
#include "trace/description.h"

namespace forebay::trace {

// The bytes of a trace: in memory, or in a file (src/runtime/trace/trace_reader.h).
class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  // Fills `bytes` with the bytes from `at` on, all below size(). False: they cannot be read.
  virtual bool read(uint64_t at, std::span<std::byte> bytes) = 0;
};

class MemorySource final : public Source {
 public:
  explicit MemorySource(ByteView bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  bool read(uint64_t at, std::span<std::byte> bytes) override;

 private:
  ByteView bytes_;
};

// A block of accesses. Its checksums were right.
struct AccessBlock {
  uint64_t at = 0;  // the block's first byte in the file
  uint32_t number = 0;
  uint32_t count = 0;
  uint32_t thread = 0;
  uint32_t payload_bytes = 0;
  uint32_t payload_checksum = 0;
  bool folded = false;  // only a histogram of its times is kept
};

struct Outline {
  ProcessInfo process;
  std::vector<FileInfo> files;
  std::vector<ViewInfo> views;
  std::vector<AccessBlock> blocks;
  std::vector<Completion> completions;  // of accesses in `blocks`
  uint64_t access_count = 0;            // in `blocks`
  uint64_t folded = 0;                  // those with folded times
  uint64_t damaged = 0;  // accesses of blocks with a readable head and unreadable contents
  Totals totals;         // from the end block; counted where there is none
  bool ended = false;    // the file has an end block: the process ended in order
  // What is wrong, one sentence each: "at byte 1234: block 17 ...". At most the first hundred.
  std::vector<std::string> problems;
  uint64_t problem_count = 0;

  void complain(std::string problem);
  // Nothing could be read.
  bool empty() const {
    return process.empty() && files.empty() && views.empty() && blocks.empty() && !ended;
  }
};

// Reads everything that can be read. False: this is no trace at all; `problems` says why.
bool read_outline(Source& source, Outline& outline);

// "at byte 1234: block 17 of 300 accesses": the beginning of a problem.
std::string name_of(const AccessBlock& block);

class BlockReader {
 public:
  // Appends the accesses of a block. Returns "" or what is wrong; then nothing is appended.
  std::string read(Source& source, const AccessBlock& block, Accesses& accesses);

 private:
  BlockDecoder decoder_;
  Bytes payload_;
};

}  // namespace forebay::trace
