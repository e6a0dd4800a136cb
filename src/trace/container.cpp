#include "trace/container.h"

#include <algorithm>

#include "trace/layout_code.h"

namespace forebay::trace {

void Container::begin(Bytes& bytes) {
  ByteWriter writer(bytes);
  writer.bytes(std::as_bytes(std::span(head_magic)));
  writer.u32(format_version);
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
  LayoutCode::write(info.tiling, writer);
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

void Container::completions(std::span<const Completion> completions, Bytes& bytes) {
  Bytes payload;
  ByteWriter writer(payload);
  Completion before;
  for (const Completion& completion : completions) {
    writer.signed_varint(int64_t{completion.request} - before.request - 1);
    writer.signed_varint(difference(static_cast<uint64_t>(completion.completed_ns),
                                    static_cast<uint64_t>(before.completed_ns)));
    writer.signed_varint(completion.shortfall);
    before = completion;
  }
  block(BlockKind::completions, 0, 0, payload, bytes);
}

void Container::end(const Totals& totals, Bytes& bytes) {
  Bytes payload;
  ByteWriter writer(payload);
  writer.varint(totals.accesses);
  writer.varint(totals.lost);
  block(BlockKind::end, 0, 0, payload, bytes);
}

bool read(ByteView bytes, Content& content) {
  MemorySource source(bytes);
  if (!read_outline(source, content)) return false;
  BlockReader reader;
  for (const AccessBlock& block : content.blocks) {
    const std::string problem = reader.read(source, block, content.accesses);
    if (!problem.empty()) content.complain(name_of(block) + ": " + problem);
  }
  content.access_count = content.accesses.size();
  if (!content.ended) content.totals.accesses = content.accesses.size();
  return true;
}

}  // namespace forebay::trace
