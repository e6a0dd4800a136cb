#include "trace/block_head.h"

namespace forebay::trace {

namespace {
constexpr uint32_t most_payload_bytes = 1u << 30;
}  // namespace

void BlockHead::write(Bytes& bytes) const {
  const std::size_t begin = bytes.size();
  ByteWriter writer(bytes);
  writer.u32(block_magic);
  for (const uint32_t word :
       {static_cast<uint32_t>(kind), number, count, thread, payload_bytes, payload_checksum})
    writer.u32(word);
  writer.u32(crc32c(ByteView(bytes).subspan(begin)));
}

bool BlockHead::read(ByteView bytes) {
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

}  // namespace forebay::trace
