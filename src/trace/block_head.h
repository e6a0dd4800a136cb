// The head of a trace file, and the head of each block in it.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/bytes.h"

namespace forebay::trace {

enum class BlockKind : uint32_t {
  process = 1,  // names and values that describe the process
  file = 2,     // one open
  view = 3,     // one file view
  accesses = 4,
  end = 5,  // the last block: numbers of recorded and of lost accesses
  completions = 6,
};

inline constexpr std::string_view head_magic = "FOREBAYT";
inline constexpr uint32_t format_version = 1;
inline constexpr uint32_t block_magic = 0x4b4c4246u;  // "FBLK"
inline constexpr std::size_t head_bytes = 12;
inline constexpr std::size_t block_head_bytes = 32;

struct BlockHead {
  BlockKind kind;
  uint32_t number;  // of the block in its file, counted from 0
  uint32_t count;   // of accesses
  uint32_t thread;
  uint32_t payload_bytes;
  uint32_t payload_checksum;

  void write(Bytes& bytes) const;
  // Reads block_head_bytes bytes. False: they are no head of a block.
  bool read(ByteView bytes);
};

}  // namespace forebay::trace
