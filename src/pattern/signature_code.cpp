#include "pattern/signature_code.h"

#include <bit>

namespace forebay::pattern {

namespace {

constexpr int most_levels = 1000;

void write(const Pattern& pattern, trace::ByteWriter& writer) {
  writer.signed_varint(pattern.offset);
  writer.signed_varint(pattern.size);
  writer.u8(pattern.operation);
  writer.varint(pattern.steps.size());
  for (const Step& step : pattern.steps) {
    writer.signed_varint(step.offset);
    writer.signed_varint(step.size);
  }
  writer.varint(pattern.count);
  const Intervals& intervals = pattern.intervals;
  writer.varint(intervals.count);
  for (const int64_t time : {intervals.least_ns, intervals.most_ns, intervals.origin_ns})
    writer.signed_varint(time);
  writer.u64(std::bit_cast<uint64_t>(intervals.sum));
  writer.u64(std::bit_cast<uint64_t>(intervals.sum_of_squares));
  writer.varint(pattern.body.size());
  for (const Pattern& one : pattern.body) write(one, writer);
}

// The number of elements that follow, each of at least a byte; 0 if there are not so many bytes.
uint64_t count_in(trace::ByteReader& reader) {
  const uint64_t count = reader.varint();
  return count <= reader.left() ? count : 0;
}

bool read(trace::ByteReader& reader, Pattern& pattern, int level) {
  if (level > most_levels) return false;
  pattern.offset = reader.signed_varint();
  pattern.size = reader.signed_varint();
  pattern.operation = reader.u8();
  pattern.steps.resize(count_in(reader));
  for (Step& step : pattern.steps) {
    step.offset = reader.signed_varint();
    step.size = reader.signed_varint();
  }
  pattern.count = reader.varint();
  Intervals& intervals = pattern.intervals;
  intervals.count = reader.varint();
  for (int64_t* time : {&intervals.least_ns, &intervals.most_ns, &intervals.origin_ns})
    *time = reader.signed_varint();
  intervals.sum = std::bit_cast<double>(reader.u64());
  intervals.sum_of_squares = std::bit_cast<double>(reader.u64());
  pattern.body.resize(count_in(reader));
  for (Pattern& one : pattern.body) {
    if (!read(reader, one, level + 1)) return false;
  }
  return reader.ok();
}

}  // namespace

void write(const Signature& signature, trace::ByteWriter& writer) {
  writer.varint(signature.patterns.size());
  for (const Pattern& pattern : signature.patterns) write(pattern, writer);
  writer.varint(signature.parts.size());
  for (const Part& part : signature.parts) {
    writer.u8(static_cast<uint8_t>(part.kind));
    writer.varint(part.pattern);
    writer.varint(part.first);
    writer.varint(part.accesses);
    writer.signed_varint(part.position);
    writer.varint(part.raw_begin);
    writer.signed_varint(part.start_ns);
    writer.signed_varint(part.end_ns);
  }
  writer.varint(signature.raw.size());
  writer.bytes(signature.raw);
  for (const uint64_t count : {signature.accesses, signature.covered, signature.lost})
    writer.varint(count);
}

bool read(trace::ByteReader& reader, Signature& signature) {
  signature.patterns.resize(count_in(reader));
  for (Pattern& pattern : signature.patterns) {
    if (!read(reader, pattern, 0)) return false;
  }
  signature.parts.resize(count_in(reader));
  for (Part& part : signature.parts) {
    part.kind = static_cast<Part::Kind>(reader.u8());
    part.pattern = static_cast<uint32_t>(reader.varint());
    part.first = reader.varint();
    part.accesses = reader.varint();
    part.position = reader.signed_varint();
    part.raw_begin = reader.varint();
    part.start_ns = reader.signed_varint();
    part.end_ns = reader.signed_varint();
  }
  const trace::ByteView raw = reader.bytes(reader.varint());
  signature.raw.assign(raw.begin(), raw.end());
  for (uint64_t* count : {&signature.accesses, &signature.covered, &signature.lost})
    *count = reader.varint();
  return reader.ok() && reader.at_end();
}

}  // namespace forebay::pattern
