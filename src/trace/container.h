// A trace file: a head, then blocks, each with its kind, length and checksums, so that a reader
// finds every whole block of a file that was cut off or damaged. docs/trace-format.md describes the
// bytes.
#pragma once

#include "trace/access_block.h"
#include "trace/block_head.h"
#include "trace/bytes.h"
#include "trace/description.h"
#include "trace/outline.h"

namespace forebay::trace {

// Appends to `bytes`; the caller writes them to a file.
class Container {
 public:
  static void begin(Bytes& bytes);
  void process(const ProcessInfo& info, Bytes& bytes);
  void file(const FileInfo& info, Bytes& bytes);
  void view(const ViewInfo& info, Bytes& bytes);
  // False: there is no memory.
  bool accesses(std::span<const Access> accesses, uint32_t thread, Times times, Bytes& bytes);
  void completions(std::span<const Completion> completions, Bytes& bytes);
  void end(const Totals& totals, Bytes& bytes);

 private:
  void block(BlockKind kind, uint32_t count, uint32_t thread, ByteView payload, Bytes& bytes);
  BlockEncoder encoder_;
  uint32_t blocks_ = 0;
};

// What a trace file holds, and what of it could not be read.
struct Content : Outline {
  Accesses accesses;  // of all blocks; totals.accesses where there is no end: so many
};

// Reads all that can be read. False: these are no bytes of a trace at all; problems says why.
bool read(ByteView bytes, Content& content);

}  // namespace forebay::trace
