#include "sim/block_trace.h"

#include <zstd.h>

#include <algorithm>
#include <new>

namespace forebay::sim {

namespace {

constexpr std::string_view zstd_magic = "\x28\xb5\x2f\xfd";

}  // namespace

BlockReader::BlockReader(BlockFormat format, uint64_t most_bytes)
    : trace_(most_bytes),
      parser_(format == BlockFormat::text ? text_parser(trace_) : oracle_general_parser(trace_)) {}

BlockReader::~BlockReader() { ZSTD_freeDCtx(context_); }

std::string BlockReader::feed(std::string_view bytes) {
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
  // A full output buffer says that there may be more to come, also when the input is used up.
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

std::string BlockReader::finish() {
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
