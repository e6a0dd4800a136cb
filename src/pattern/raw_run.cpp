#include "pattern/raw_run.h"

namespace forebay::pattern {

namespace {

constexpr uint8_t other_size = 1;
constexpr uint8_t other_operation = 2;

}  // namespace

void append_raw(trace::Bytes& raw, const Access& previous, const Access& access) {
  trace::ByteWriter writer(raw);
  writer.u8(static_cast<uint8_t>((access.size != previous.size ? other_size : 0) |
                                 (access.operation != previous.operation ? other_operation : 0)));
  writer.signed_varint(minus(access.offset, plus(previous.offset, previous.size)));
  if (access.size != previous.size) writer.signed_varint(access.size);
  if (access.operation != previous.operation) writer.u8(access.operation);
}

void read_raw(const trace::Bytes& raw, std::size_t& next, Access& access) {
  trace::ByteReader reader(trace::ByteView(raw).subspan(next));
  const uint8_t flags = reader.u8();
  access.offset = plus(plus(access.offset, access.size), reader.signed_varint());
  if ((flags & other_size) != 0) access.size = reader.signed_varint();
  if ((flags & other_operation) != 0) access.operation = reader.u8();
  next = raw.size() - reader.left();
}

}  // namespace forebay::pattern
