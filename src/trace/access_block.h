// Encodes and decodes one block: accesses of one thread, by columns. Each number is predicted from
// the ones before it; each column is compressed by itself. Blocks are independent, so any of them
// may be missing. docs/trace-format.md describes the bytes.
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

// The times of a block's accesses, as counts.
struct TimeHistogram {
  std::vector<uint64_t> gaps, durations;  // number of times per symbol of Magnitude
};

class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  BlockEncoder(const BlockEncoder&) = delete;
  BlockEncoder& operator=(const BlockEncoder&) = delete;

  // Appends the accesses, at most most_accesses, in the order of their calls. False: no memory.
  bool encode(std::span<const Access> accesses, Times times, Bytes& bytes);

 private:
  bool add_stream(ByteView stream, Bytes& bytes);
  ZSTD_CCtx_s* context_;
  Bytes packed_;  // the stream being compressed
};

class BlockDecoder {
 public:
  BlockDecoder();
  ~BlockDecoder();
  BlockDecoder(const BlockDecoder&) = delete;
  BlockDecoder& operator=(const BlockDecoder&) = delete;

  // Appends `count` accesses of a thread. Returns "" or what is wrong with the bytes; then nothing
  // is appended. Folded accesses begin and end at the start of the block; `folded` (may be nullptr)
  // receives their histogram.
  std::string decode(ByteView bytes, uint32_t count, uint32_t thread, Accesses& accesses,
                     TimeHistogram* folded = nullptr);

 private:
  std::string unpack(ByteReader& reader, std::size_t most_bytes, Bytes& stream);
  ZSTD_DCtx_s* context_;
};

}  // namespace forebay::trace
