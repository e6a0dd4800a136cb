// Reading a trace file without holding it: first its outline, that is all but the accesses, and
// where those are; then the accesses, a block at a time. The outline takes memory in proportion to
// the file. Decoded accesses do not (65,536 equal ones take some sixty bytes of a file), so whoever
// wants them says how many at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/access_block.h"
#include "trace/description.h"

namespace forebay::trace {

// Where a trace's bytes are: in memory, or in a file (src/runtime/trace_reader.h).
class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  // Fills `bytes` with those that begin at `at`; they end within size(). False: they cannot be had.
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

// A block of accesses whose checksum was right.
struct AccessBlock {
  uint64_t at = 0;  // byte of the file where the block begins
  uint32_t number = 0;
  uint32_t count = 0;
  uint32_t thread = 0;
  uint32_t payload_bytes = 0;
  uint32_t payload_checksum = 0;
  bool folded = false;  // its times are
};

struct Outline {
  ProcessInfo process;
  std::vector<FileInfo> files;
  std::vector<ViewInfo> views;
  std::vector<AccessBlock> blocks;
  std::vector<Completion> completions;  // of accesses in the blocks
  uint64_t access_count = 0;            // in the blocks
  uint64_t folded = 0;                  // of these, how many have folded times
  uint64_t damaged = 0;  // accesses of blocks that cannot be read and whose heads still can
  Totals totals;         // as the end block says; only counted where there is none
  bool ended = false;    // with an end block: the process left in order
  // What is wrong, a sentence each: "at byte 1234: block 17 ...". Of very many the first hundred.
  std::vector<std::string> problems;
  uint64_t problem_count = 0;

  void complain(std::string problem);
  // Nothing was readable.
  bool empty() const {
    return process.empty() && files.empty() && views.empty() && blocks.empty() && !ended;
  }
};

// Reads all that can be read. False: this is no trace at all; problems says why.
bool read_outline(Source& source, Outline& outline);

// "at byte 1234: block 17 of 300 accesses", as problems begin.
std::string name_of(const AccessBlock& block);

class BlockReader {
 public:
  // Appends a block's accesses; "" or what is wrong with it, and then nothing is appended.
  std::string read(Source& source, const AccessBlock& block, Accesses& accesses);

 private:
  BlockDecoder decoder_;
  Bytes payload_;
};

}  // namespace forebay::trace
