// Parsers of block traces: bytes go in as they come from a file, page touches or accesses come out.
// Made for files of strangers: memory is bounded, and what is wrong is said with its place.
//
// Text: a line an access; its fields are divided by commas or blanks. A first line of names says
// which field is which; without one, their number does:
//   id                                     a block
//   time,id,size                           (libCacheSim's CSV)
//   time,process,operation,offset,length   bytes of one file
//   time,process,operation,offset,length,file
// oracleGeneral (libCacheSim): records of 24 bytes, little endian: uint32 time, uint64 id,
// uint32 size, int64 next access. Either may be compressed by Zstandard.
// Times never go back. Sizes of blocks are ignored: each id is one page.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "sim/access_log.h"

struct ZSTD_DCtx_s;

namespace forebay::sim {

enum class BlockFormat : uint8_t { text, oracle_general };

// What was read: either `keys` or `log`.
struct BlockTrace {
  explicit BlockTrace(uint64_t most_bytes)
      : most_keys(most_bytes / touch_bytes_in_growth), log(most_bytes / log_bytes_in_growth) {}

  // A vector that grows holds its old and its new memory for a moment: thrice what it needs.
  static constexpr std::size_t touch_bytes_in_growth = 3 * sizeof(PageKey);
  static constexpr std::size_t log_bytes_in_growth = 3 * log_bytes_per_access;

  uint64_t most_keys;
  std::vector<PageKey> keys;       // of block ids
  AccessLog log;                   // of bytes
  std::vector<std::string> files;  // of the log
};

class BlockParser {
 public:
  virtual ~BlockParser() = default;
  // Takes the next bytes, and the end. "" or what is wrong, with its line or byte.
  virtual std::string feed(std::string_view bytes) = 0;
  virtual std::string finish() = 0;
};

// Reads a file of a format, decompressing it where it begins like a Zstandard frame.
class BlockReader final {
 public:
  BlockReader(BlockFormat format, uint64_t most_bytes);
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  std::string feed(std::string_view bytes);
  std::string finish();
  BlockTrace& trace() { return trace_; }

 private:
  std::string feed_plain(std::string_view bytes);
  std::string decompress(std::string_view bytes);

  BlockTrace trace_;
  std::unique_ptr<BlockParser> parser_;
  std::string head_;  // the first bytes, until they are enough to know a frame by
  bool begun_ = false;
  ZSTD_DCtx_s* context_ = nullptr;  // where it is compressed
  std::size_t frame_left_ = 0;      // what Zstandard still waits for
  uint64_t taken_ = 0;              // bytes of the file
};

// The parsers, for BlockReader.
std::unique_ptr<BlockParser> text_parser(BlockTrace& trace);
std::unique_ptr<BlockParser> oracle_general_parser(BlockTrace& trace);

}  // namespace forebay::sim
