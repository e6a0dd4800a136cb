// Parsers of block traces: they take bytes as they come from a file, and give touches of pages or
// accesses. A file may contain anything: memory is bounded, and an error names its place.
//
// Text: one access per line, with fields divided by commas or blanks. The first line may name the
// fields; without names, their number determines them:
//   id                                     a block
//   time,id,size                           (libCacheSim's CSV)
//   time,process,operation,offset,length   bytes of one file
//   time,process,operation,offset,length,file
// oracleGeneral (libCacheSim): records of 24 bytes, little endian: uint32 time, uint64 id,
// uint32 size, int64 next access. Both formats may be compressed by Zstandard.
// Times must not decrease. The sizes of blocks are ignored: each id is one page.
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

// By the name that a user writes: text or oracleGeneral. nullopt: no such format.
std::optional<BlockFormat> find_block_format(std::string_view name);

// The contents of a block trace: either `keys` or `log`.
struct BlockTrace {
  explicit BlockTrace(uint64_t most_bytes)
      : most_keys(most_bytes / touch_bytes_in_growth), log(most_bytes / log_bytes_in_growth) {}

  // While a vector grows it has its old and its new memory: three times what it needs.
  static constexpr std::size_t touch_bytes_in_growth = 3 * sizeof(PageKey);
  static constexpr std::size_t log_bytes_in_growth = 3 * log_bytes_per_access;

  uint64_t most_keys;
  std::vector<PageKey> keys;       // a page per block id
  AccessLog log;                   // accesses to bytes
  std::vector<std::string> files;  // names of the log's files, by number
};

class BlockParser {
 public:
  virtual ~BlockParser() = default;
  // feed() takes the next bytes, finish() ends the trace. Both return "" or what is wrong, with
  // the line or byte.
  virtual std::string feed(std::string_view bytes) = 0;
  virtual std::string finish() = 0;
};

// Reads a file of a format. Decompresses a file that begins like a Zstandard frame.
class BlockReader final {
 public:
  BlockReader(BlockFormat format, uint64_t most_bytes);
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // Like those of BlockParser. After the end, or after an error, both report "the trace has ended".
  std::string feed(std::string_view bytes);
  std::string finish();
  BlockTrace& trace() { return trace_; }

 private:
  std::string take(std::string_view bytes);
  std::string end();
  std::string feed_plain(std::string_view bytes);
  std::string decompress(std::string_view bytes);

  BlockTrace trace_;
  std::unique_ptr<BlockParser> parser_;
  std::string head_;  // the first bytes, until they suffice to recognise a Zstandard frame
  bool begun_ = false;
  bool ended_ = false;              // or wrong
  ZSTD_DCtx_s* context_ = nullptr;  // if it is compressed
  std::size_t frame_left_ = 0;      // 0: Zstandard expects no more bytes
  uint64_t taken_ = 0;              // bytes of the file so far
};

// The parsers that BlockReader uses.
std::unique_ptr<BlockParser> text_parser(BlockTrace& trace);
std::unique_ptr<BlockParser> oracle_general_parser(BlockTrace& trace);

}  // namespace forebay::sim
