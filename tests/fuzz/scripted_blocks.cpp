#include "fuzz/scripted_blocks.h"

#include "sim/block_trace.h"
#include "sim/touches.h"

namespace forebay::sim {
namespace {

constexpr uint64_t most_bytes = 1 << 16;
constexpr uint64_t most_touches = 1 << 12;

struct Read {
  std::string wrong;
  std::vector<PageKey> keys;
  std::size_t accesses = 0;
};

Read read(BlockFormat format, std::string_view bytes, std::size_t piece, std::string& broken) {
  Read result;
  BlockReader reader(format, most_bytes);
  while (!bytes.empty() && result.wrong.empty()) {
    result.wrong = reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  if (result.wrong.empty()) result.wrong = reader.finish();
  BlockTrace& trace = reader.trace();
  if (!result.wrong.empty() && result.wrong.find('\n') != std::string::npos)
    broken = "a complaint of several lines";
  if (trace.keys.size() * sizeof(PageKey) > most_bytes) broken = "too much memory for ids";
  if (trace.log.accesses().size() * sizeof(DataAccess) > most_bytes)
    broken = "too much memory for accesses";
  if (result.wrong.empty() && trace.keys.empty() == trace.log.accesses().empty())
    broken = "neither ids nor accesses, or both";
  for (const DataAccess& access : trace.log.accesses()) {
    if (access.offset < 0 || access.end <= access.offset) broken = "an access without a place";
  }
  Shown shown;
  Progress progress;
  original_touches(trace.log, 4096, {}, most_touches, shown, progress);
  if (shown.keys.size() > most_touches) broken = "more touches than allowed";
  result.accesses = trace.log.accesses().size();
  result.keys = std::move(trace.keys);
  return result;
}

}  // namespace

std::string sound_text() {
  return "time,rank,op,offset,length,file\n"
         "0.5,0,write,0,4096,a\n"
         "# a comment\n"
         "1,1,read,4096,100,b\n"
         "1.25,0,r,18446744,7,a\r\n";
}

std::string sound_oracle_general() {
  std::string bytes;
  for (unsigned char i = 0; i < 5; ++i) {
    bytes += std::string{static_cast<char>(i), 0, 0, 0};                  // time
    bytes += std::string{static_cast<char>(i % 3), 0, 0, 0, 0, 0, 0, 0};  // id
    bytes += std::string{0, 16, 0, 0};                                    // size
    bytes += std::string{-1, -1, -1, -1, -1, -1, -1, -1};                 // next access
  }
  return bytes;
}

std::string broken_block_promise(std::string_view bytes, std::size_t piece) {
  std::string broken;
  for (const BlockFormat format : {BlockFormat::text, BlockFormat::oracle_general}) {
    const Read whole = read(format, bytes, bytes.size() + 1, broken);
    const Read pieces = read(format, bytes, piece, broken);
    const bool both_sound = whole.wrong.empty() && pieces.wrong.empty();
    // How much is read before damage is met depends on the pieces: zstd reads a whole frame at
    // once.
    if (whole.wrong.empty() != pieces.wrong.empty() ||
        (both_sound && (whole.accesses != pieces.accesses || whole.keys != pieces.keys)))
      broken = "pieces are read otherwise than the whole: " + whole.wrong + " / " + pieces.wrong;
  }
  return broken;
}

}  // namespace forebay::sim
