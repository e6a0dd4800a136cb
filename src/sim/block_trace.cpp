#include "sim/block_trace.h"

#include <zstd.h>

#include <algorithm>
#include <new>
#include <utility>

namespace forebay::sim {

namespace {

constexpr std::string_view zstd_magic = "\x28\xb5\x2f\xfd";
constexpr std::string_view has_ended = "the trace has ended";

}  // namespace

std::optional<BlockFormat> find_block_format(std::string_view name) {
  if (name == "text") return BlockFormat::text;
  if (name == "oracleGeneral") return BlockFormat::oracle_general;
  return std::nullopt;
}

BlockReader::BlockReader(BlockFormat format, uint64_t most_bytes)
    : trace_(most_bytes),
      parser_(format == BlockFormat::text ? text_parser(trace_) : oracle_general_parser(trace_)) {}

BlockReader::~BlockReader() { ZSTD_freeDCtx(context_); }

std::string BlockReader::feed(std::string_view bytes) {
  if (ended_) return std::string(has_ended);
  std::string wrong = take(bytes);
  ended_ = !wrong.empty();
  return wrong;
}

std::string BlockReader::finish() {
  return std::exchange(ended_, true) ? std::string(has_ended) : end();
}

std::string BlockReader::take(std::string_view bytes) {
  if (begun_) return feed_plain(bytes);
  head_ += bytes;
  if (head_.size() < zstd_magic.size()) return "";
  begun_ = true;
  if (head_.starts_with(zstd_magic)) {
    context_ = ZSTD_createDCtx();
    if (context_ == nullptr) throw std::bad_alloc();
  }
  const std::string head = std::move(head_);
  return feed_plain(head);
}

std::string BlockReader::feed_plain(std::string_view bytes) {
  return context_ == nullptr ? parser_->feed(bytes) : decompress(bytes);
}

std::string BlockReader::decompress(std::string_view bytes) {
  std::vector<char> plain(ZSTD_DStreamOutSize());
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  // A full output buffer means that there may be more output, even if the input is used up.
  for (bool more = true; more;) {
    ZSTD_outBuffer out{plain.data(), plain.size(), 0};
    const std::size_t before = in.pos;
    frame_left_ = ZSTD_decompressStream(context_, &out, &in);
    if (ZSTD_isError(frame_left_) != 0) {
      return "byte " + std::to_string(taken_ + in.pos) + ": its compressed data is damaged (" +
             ZSTD_getErrorName(frame_left_) + ")";
    }
    if (std::string wrong = parser_->feed({plain.data(), out.pos}); !wrong.empty()) return wrong;
    more = in.pos < in.size ? in.pos > before || out.pos > 0 : out.pos == out.size;
  }
  taken_ += bytes.size();
  return "";
}

std::string BlockReader::end() {
  if (!begun_) {
    begun_ = true;
    if (std::string wrong = parser_->feed(head_); !wrong.empty()) return wrong;
  }
  if (frame_left_ != 0)
    return "byte " + std::to_string(taken_) + ": its compressed data ends early";
  std::string wrong = parser_->finish();
  if (wrong.empty()) trace_.log.sort();
  return wrong;
}

}  // namespace forebay::sim
