// A block of accesses of one thread as bytes: by columns, each predicted from what came before,
// coded and compressed by itself. Blocks know nothing of each other, so that any of them may be
// missing. docs/trace-format.md describes the bytes.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "trace/access.h"
#include "trace/bytes.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace forebay::trace {

inline constexpr uint32_t most_accesses = 1 << 16;  // in a block

// What the times of a block's accesses are folded into.
struct TimeHistogram {
  std::vector<uint64_t> gaps, durations;  // counts by Magnitude's symbol
};

class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  // Appends at most most_accesses, in the order of their calls. False: there is no memory.
  bool encode(std::span<const Access> accesses, Times times, Bytes& bytes);

 private:
  bool add_stream(ByteView stream, Bytes& bytes);
  ZSTD_CCtx_s* context_;
  Bytes packed_;  // of one stream
};

class BlockDecoder {
 public:
  BlockDecoder();
  ~BlockDecoder();
  BlockDecoder(const BlockDecoder&) = delete;
  BlockDecoder& operator=(const BlockDecoder&) = delete;

  // Appends `count` accesses of a thread; "" or what is wrong with the bytes, and then nothing is
  // appended. Accesses whose times were folded begin and end at the block's start; `folded` (may be
  // null) gets their histogram.
  std::string decode(ByteView bytes, uint32_t count, uint32_t thread, Accesses& accesses,
                     TimeHistogram* folded = nullptr);

 private:
  std::string unpack(ByteReader& reader, std::size_t most_bytes, Bytes& stream);
  ZSTD_DCtx_s* context_;
};

}  // namespace forebay::trace
