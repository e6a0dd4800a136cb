#include "trace/outline.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "trace/block_head.h"
#include "trace/layout_code.h"

namespace forebay::trace {

namespace {

constexpr std::size_t most_problems = 100;
constexpr std::size_t most_ahead = 1 << 16;  // bytes that a search reads at a time

std::string place(uint64_t at) { return "at byte " + std::to_string(at) + ": "; }

// The place of a block, as BlockHead and AccessBlock describe it.
std::string place(uint64_t at, uint32_t number, uint32_t accesses) {
  std::string name = place(at) + "block " + std::to_string(number);
  return accesses == 0 ? name : name + " of " + std::to_string(accesses) + " accesses";
}

bool read_process(ByteReader& reader, ProcessInfo& info) {
  while (reader.ok() && !reader.at_end()) {
    std::string name = reader.text();
    info[std::move(name)] = reader.text();
  }
  return reader.ok();
}

bool read_file(ByteReader& reader, FileInfo& info) {
  info.number = static_cast<uint32_t>(reader.varint());
  info.amode = reader.signed_varint();
  info.ranks = static_cast<uint32_t>(reader.varint());
  info.cached = reader.u8() != 0;
  info.path = reader.text();
  return reader.ok() && reader.at_end();
}

bool read_view(ByteReader& reader, ViewInfo& info) {
  info.number = static_cast<uint32_t>(reader.varint());
  info.tiling = LayoutCode::read_tiling(reader);
  return info.tiling.layout != nullptr && reader.at_end();
}

bool read_totals(ByteReader& reader, Totals& totals) {
  totals.accesses = reader.varint();
  totals.lost = reader.varint();
  return reader.ok() && reader.at_end() && totals.lost <= totals.accesses;
}

bool read_completions(ByteReader& reader, std::vector<Completion>& completions) {
  Completion last;
  while (reader.ok() && !reader.at_end()) {
    last.request = static_cast<uint32_t>(sum(last.request, reader.signed_varint()) + 1);
    last.completed_ns =
        static_cast<int64_t>(sum(static_cast<uint64_t>(last.completed_ns), reader.signed_varint()));
    last.shortfall = reader.signed_varint();
    if (reader.ok()) completions.push_back(last);
  }
  return reader.ok();
}

class Walk {
 public:
  Walk(Source& source, Outline& outline) : source_(source), outline_(outline) {}

  void run() {
    uint64_t at = head_bytes;
    while (at < source_.size()) at = block(at);
    if (outline_.ended) return;
    outline_.totals.accesses = outline_.access_count + outline_.damaged;
    outline_.complain(place(source_.size()) +
                      "it ends without an end: the process was killed, or still runs");
  }

 private:
  // Reads the block at `at`. Returns where to continue.
  uint64_t block(uint64_t at) {
    BlockHead head;
    if (!read_head(at, head)) {
      const uint64_t next = next_magic(at + 1);
      outline_.complain(place(at) + std::to_string(next - at) + " bytes are no block");
      return next;
    }
    const uint64_t begin = at + block_head_bytes;
    const bool cut = head.payload_bytes > source_.size() - begin;
    if (cut || !read_payload(begin, head)) {
      outline_.complain(place(at, head.number, head.count) + (cut ? " is cut off" : " is damaged"));
      if (head.kind == BlockKind::accesses) outline_.damaged += std::min(head.count, most_accesses);
      // The length in the head may be wrong, too, so the search goes on within the block. But it
      // reads at most twice the file's size in vain.
      checked_in_vain_ += cut ? 0 : head.payload_bytes;
      const bool again = cut || checked_in_vain_ <= 2 * source_.size();
      return again ? next_magic(at + 1) : begin + head.payload_bytes;
    }
    if (head.number != expected_)
      outline_.complain(place(at) + "block " + std::to_string(expected_) + " is missing");
    expected_ = head.number + 1;
    if (!take(head, at))
      outline_.complain(place(at, head.number, head.count) + ": its content makes no sense");
    return begin + head.payload_bytes;
  }

  bool read_head(uint64_t at, BlockHead& head) {
    std::array<std::byte, block_head_bytes> bytes;
    return source_.size() - at >= bytes.size() && source_.read(at, bytes) && head.read(bytes);
  }
  bool read_payload(uint64_t begin, const BlockHead& head) {
    payload_.resize(head.payload_bytes);
    return source_.read(begin, payload_) && crc32c(payload_) == head.payload_checksum;
  }

  // The place of the next block's magic number, or the end. The window grows, since the next block
  // may be near.
  uint64_t next_magic(uint64_t from) {
    Bytes magic, window;
    ByteWriter(magic).u32(block_magic);
    for (std::size_t ahead = 64; from < source_.size(); ahead = std::min(2 * ahead, most_ahead)) {
      window.resize(std::min<uint64_t>(ahead, source_.size() - from));
      if (!source_.read(from, window)) break;
      const auto found = std::search(window.begin(), window.end(), magic.begin(), magic.end());
      if (found != window.end()) return from + static_cast<uint64_t>(found - window.begin());
      if (window.size() == source_.size() - from) break;
      from += window.size() - magic.size() + 1;
    }
    return source_.size();
  }

  bool take(const BlockHead& head, uint64_t at) {
    ByteReader reader(payload_);
    switch (head.kind) {
      case BlockKind::process:
        return read_process(reader, outline_.process);
      case BlockKind::file: {
        FileInfo file;
        if (!read_file(reader, file)) return false;
        outline_.files.push_back(std::move(file));
        return true;
      }
      case BlockKind::view: {
        ViewInfo view;
        if (!read_view(reader, view)) return false;
        outline_.views.push_back(std::move(view));
        return true;
      }
      case BlockKind::accesses: {
        if (head.count == 0 || head.count > most_accesses || payload_.empty()) return false;
        const bool folded = payload_[0] == static_cast<std::byte>(Times::histogram);
        outline_.blocks.push_back({at, head.number, head.count, head.thread, head.payload_bytes,
                                   head.payload_checksum, folded});
        outline_.access_count += head.count;
        outline_.folded += folded ? head.count : 0;
        return true;
      }
      case BlockKind::completions:
        return read_completions(reader, outline_.completions);
      case BlockKind::end: {
        Totals totals;
        if (!read_totals(reader, totals)) return false;
        outline_.totals = totals;
        outline_.ended = true;
        return true;
      }
    }
    return true;  // a kind of a later version, not needed to understand the rest
  }

  Source& source_;
  Outline& outline_;
  Bytes payload_;
  uint32_t expected_ = 0;
  uint64_t checked_in_vain_ = 0;
};

}  // namespace

bool MemorySource::read(uint64_t at, std::span<std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(bytes.data(), bytes_.data() + at, bytes.size());
  return true;
}

void Outline::complain(std::string problem) {
  ++problem_count;
  if (problems.size() < most_problems) problems.push_back(std::move(problem));
}

bool read_outline(Source& source, Outline& outline) {
  std::array<std::byte, head_bytes> head;
  const auto magic = std::as_bytes(std::span(head_magic));
  if (source.size() < head_bytes || !source.read(0, head) ||
      !std::equal(magic.begin(), magic.end(), head.begin())) {
    outline.complain("it is no trace of Forebay");
    return false;
  }
  ByteReader reader(ByteView(head).subspan(magic.size()));
  if (const uint32_t found = reader.u32(); found != format_version) {
    outline.complain("it has version " + std::to_string(found) + " of the format, not " +
                     std::to_string(format_version));
    return false;
  }
  Walk(source, outline).run();
  return true;
}

std::string name_of(const AccessBlock& block) { return place(block.at, block.number, block.count); }

std::string BlockReader::read(Source& source, const AccessBlock& block, Accesses& accesses) {
  payload_.resize(block.payload_bytes);
  if (!source.read(block.at + block_head_bytes, payload_) ||
      crc32c(payload_) != block.payload_checksum)
    return "it cannot be read any more";
  return decoder_.decode(payload_, block.count, block.thread, accesses);
}

}  // namespace forebay::trace
