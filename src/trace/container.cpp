#include "trace/container.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "trace/layout_code.h"

namespace forebay::trace {

namespace {

constexpr std::string_view head_magic = "FOREBAYT";
constexpr uint32_t version = 1;
constexpr uint32_t block_magic = 0x4b4c4246u;  // "FBLK"
constexpr std::size_t head_bytes = 12;
constexpr std::size_t block_head_bytes = 32;
constexpr uint32_t most_payload_bytes = 1u << 30;
constexpr std::size_t most_problems = 100;

struct BlockHead {
  BlockKind kind;
  uint32_t number;  // of the block in its file, from 0
  uint32_t count;   // of accesses
  uint32_t thread;
  uint32_t payload_bytes;
  uint32_t payload_checksum;

  void write(Bytes& bytes) const {
    const std::size_t begin = bytes.size();
    ByteWriter writer(bytes);
    writer.u32(block_magic);
    for (const uint32_t word :
         {static_cast<uint32_t>(kind), number, count, thread, payload_bytes, payload_checksum})
      writer.u32(word);
    writer.u32(crc32c(ByteView(bytes).subspan(begin)));
  }
  // False: no such head stands there.
  bool read(ByteView bytes) {
    if (bytes.size() < block_head_bytes) return false;
    ByteReader reader(bytes.first(block_head_bytes));
    if (reader.u32() != block_magic) return false;
    kind = static_cast<BlockKind>(reader.u32());
    number = reader.u32();
    count = reader.u32();
    thread = reader.u32();
    payload_bytes = reader.u32();
    payload_checksum = reader.u32();
    return reader.u32() == crc32c(bytes.first(block_head_bytes - sizeof(uint32_t))) &&
           payload_bytes <= most_payload_bytes;
  }
};

// Where the next block's magic number is, or the end.
std::size_t next_magic(ByteView bytes, std::size_t from) {
  Bytes magic;
  ByteWriter(magic).u32(block_magic);
  const auto found = std::search(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(),
                                 magic.begin(), magic.end());
  return static_cast<std::size_t>(found - bytes.begin());
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
  info.tiling.origin = reader.signed_varint();
  info.tiling.extent_bytes = reader.signed_varint();
  info.tiling.layout = LayoutCode::read(reader);
  return info.tiling.layout != nullptr && reader.ok() && reader.at_end();
}

bool read_totals(ByteReader& reader, Totals& totals) {
  totals.accesses = reader.varint();
  totals.lost = reader.varint();
  return reader.ok() && reader.at_end();
}

class Reading {
 public:
  Reading(ByteView bytes, Content& content) : bytes_(bytes), content_(content) {}

  void run() {
    std::size_t at = head_bytes;
    while (at < bytes_.size()) {
      BlockHead head;
      if (!head.read(bytes_.subspan(at))) {
        const std::size_t next = next_magic(bytes_, at + 1);
        complain(at, std::to_string(next - at) + " bytes are no block");
        at = next;
        continue;
      }
      const ByteView rest = bytes_.subspan(at + block_head_bytes);
      const ByteView payload = rest.first(std::min<std::size_t>(rest.size(), head.payload_bytes));
      if (crc32c(payload) != head.payload_checksum || payload.size() < head.payload_bytes) {
        const bool cut = payload.size() < head.payload_bytes;
        complain(at, block_name(head) + (cut ? " is cut off" : " is damaged"));
        // Its length may be wrong, too.
        at = next_magic(bytes_, at + 1);
        continue;
      }
      if (head.number != expected_)
        complain(at, "block " + std::to_string(expected_) + " is missing");
      expected_ = head.number + 1;
      if (const std::string problem = take(head, payload); !problem.empty())
        complain(at, block_name(head) + ": " + problem);
      at += block_head_bytes + head.payload_bytes;
    }
    if (!content_.ended) {
      content_.totals.accesses = content_.accesses.size();
      complain(bytes_.size(), "it ends without an end: the process was killed, or still runs");
    }
  }

 private:
  static std::string block_name(const BlockHead& head) {
    std::string name = "block " + std::to_string(head.number);
    if (head.kind == BlockKind::accesses) name += " of " + std::to_string(head.count) + " accesses";
    return name;
  }

  void complain(std::size_t at, const std::string& what) {
    if (content_.problems.size() < most_problems)
      content_.problems.push_back("at byte " + std::to_string(at) + ": " + what);
  }

  std::string take(const BlockHead& head, ByteView payload) {
    ByteReader reader(payload);
    bool good = true;
    switch (head.kind) {
      case BlockKind::process:
        good = read_process(reader, content_.process);
        break;
      case BlockKind::file:
        good = read_file(reader, content_.files.emplace_back());
        if (!good) content_.files.pop_back();
        break;
      case BlockKind::view:
        good = read_view(reader, content_.views.emplace_back());
        if (!good) content_.views.pop_back();
        break;
      case BlockKind::accesses: {
        TimeHistogram folded;
        std::string problem =
            decoder_.decode(payload, head.count, head.thread, content_.accesses, &folded);
        if (problem.empty() && !folded.gaps.empty()) content_.folded += head.count;
        return problem;
      }
      case BlockKind::end:
        good = read_totals(reader, content_.totals);
        content_.ended = good;
        break;
      default:
        return "";  // of a later version: not needed to understand the rest
    }
    return good ? "" : "its content makes no sense";
  }

  ByteView bytes_;
  Content& content_;
  BlockDecoder decoder_;
  uint32_t expected_ = 0;
};

}  // namespace

void Container::begin(Bytes& bytes) {
  ByteWriter writer(bytes);
  writer.bytes(std::as_bytes(std::span(head_magic)));
  writer.u32(version);
}

void Container::block(BlockKind kind, uint32_t count, uint32_t thread, ByteView payload,
                      Bytes& bytes) {
  const BlockHead head{
      kind, blocks_++, count, thread, static_cast<uint32_t>(payload.size()), crc32c(payload)};
  head.write(bytes);
  ByteWriter(bytes).bytes(payload);
}

void Container::process(const ProcessInfo& info, Bytes& bytes) {
  Bytes payload;
  ByteWriter writer(payload);
  for (const auto& [name, value] : info) {
    writer.text(name);
    writer.text(value);
  }
  block(BlockKind::process, 0, 0, payload, bytes);
}

void Container::file(const FileInfo& info, Bytes& bytes) {
  Bytes payload;
  ByteWriter writer(payload);
  writer.varint(info.number);
  writer.signed_varint(info.amode);
  writer.varint(info.ranks);
  writer.u8(info.cached ? 1 : 0);
  writer.text(info.path);
  block(BlockKind::file, 0, 0, payload, bytes);
}

void Container::view(const ViewInfo& info, Bytes& bytes) {
  Bytes payload;
  ByteWriter writer(payload);
  writer.varint(info.number);
  writer.signed_varint(info.tiling.origin);
  writer.signed_varint(info.tiling.extent_bytes);
  LayoutCode::write(*info.tiling.layout, writer);
  block(BlockKind::view, 0, 0, payload, bytes);
}

bool Container::accesses(std::span<const Access> accesses, uint32_t thread, Times times,
                         Bytes& bytes) {
  for (; !accesses.empty();) {
    const std::size_t count = std::min<std::size_t>(accesses.size(), most_accesses);
    Bytes payload;
    if (!encoder_.encode(accesses.first(count), times, payload)) return false;
    block(BlockKind::accesses, static_cast<uint32_t>(count), thread, payload, bytes);
    accesses = accesses.subspan(count);
  }
  return true;
}

void Container::end(const Totals& totals, Bytes& bytes) {
  Bytes payload;
  ByteWriter writer(payload);
  writer.varint(totals.accesses);
  writer.varint(totals.lost);
  block(BlockKind::end, 0, 0, payload, bytes);
}

bool read(ByteView bytes, Content& content) {
  const auto magic = std::as_bytes(std::span(head_magic));
  if (bytes.size() < head_bytes || !std::equal(magic.begin(), magic.end(), bytes.begin())) {
    content.problems.emplace_back("it is no trace of Forebay");
    return false;
  }
  ByteReader reader(bytes.subspan(magic.size()));
  if (const uint32_t found = reader.u32(); found != version) {
    content.problems.push_back("it has version " + std::to_string(found) + " of the format, not " +
                               std::to_string(version));
    return false;
  }
  Reading(bytes, content).run();
  return true;
}

}  // namespace forebay::trace
