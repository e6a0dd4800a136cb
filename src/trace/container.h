// A trace file: a head, then blocks. Each block has its kind, length and checksums, so a reader
// finds every whole block of a file that is cut off or damaged. docs/trace-format.md describes the
// bytes.
#pragma once

#include "trace/access_block.h"
#include "trace/block_head.h"
#include "trace/bytes.h"
#include "trace/description.h"
#include "trace/outline.h"

namespace forebay::trace {

// Appends the parts of a trace file to `bytes`. The caller writes them to a file.
class Container {
 public:
  static void begin(Bytes& bytes);
  void process(const ProcessInfo& info, Bytes& bytes);
  void file(const FileInfo& info, Bytes& bytes);
  void view(const ViewInfo& info, Bytes& bytes);
  // False: no memory.
  bool accesses(std::span<const Access> accesses, uint32_t thread, Times times, Bytes& bytes);
  void completions(std::span<const Completion> completions, Bytes& bytes);
  void end(const Totals& totals, Bytes& bytes);

 private:
  void block(BlockKind kind, uint32_t count, uint32_t thread, ByteView payload, Bytes& bytes);
  BlockEncoder encoder_;
  uint32_t blocks_ = 0;
};

// The contents of a trace file, and what could not be read of them.
struct Content : Outline {
  Accesses accesses;  // of all blocks; without an end block, totals.accesses is their number
};

// Reads all blocks that can be read. False: the bytes are no trace at all; `problems` says why.
bool read(ByteView bytes, Content& content);

}  // namespace forebay::trace
