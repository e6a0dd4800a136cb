#include "trace/layout_code.h"

#include <utility>

namespace forebay {

using trace::ByteReader;
using trace::ByteWriter;

namespace {

// Writes numbers, mostly ascending, each as the difference to the one before.
void write_list(const std::vector<int64_t>& list, ByteWriter& writer) {
  writer.varint(list.size());
  uint64_t before = 0;
  for (const int64_t number : list) {
    writer.signed_varint(static_cast<int64_t>(static_cast<uint64_t>(number) - before));
    before = static_cast<uint64_t>(number);
  }
}

std::vector<int64_t> read_list(ByteReader& reader) {
  const uint64_t size = reader.varint();
  std::vector<int64_t> list;
  uint64_t before = 0;
  // Rejects a list that claims more entries than there are bytes, before memory is taken for it.
  if (size > reader.left()) return list;
  list.reserve(static_cast<std::size_t>(size));
  for (uint64_t i = 0; i < size && reader.ok(); ++i) {
    before += static_cast<uint64_t>(reader.signed_varint());
    list.push_back(static_cast<int64_t>(before));
  }
  return list;
}

}  // namespace

void LayoutCode::write(const Layout& layout, ByteWriter& writer) {
  writer.u8(static_cast<uint8_t>(layout.kind_));
  std::vector<int64_t> weights;
  for (int64_t i = 0; i < layout.entries(); ++i) weights.push_back(layout.weight(i));
  switch (layout.kind_) {
    case Layout::Kind::block:
      writer.signed_varint(layout.size_);
      break;
    case Layout::Kind::repeat:
      writer.signed_varint(layout.count_);
      writer.signed_varint(layout.stride_);
      write(*layout.child_, writer);
      break;
    case Layout::Kind::runs:
      write_list(layout.displacements_, writer);
      write_list(weights, writer);
      break;
    case Layout::Kind::indexed:
      write_list(layout.displacements_, writer);
      write_list(weights, writer);
      writer.signed_varint(layout.stride_);
      write(*layout.child_, writer);
      break;
    case Layout::Kind::structure:
      write_list(layout.displacements_, writer);
      for (const LayoutRef& child : layout.children_) write(*child, writer);
      break;
    case Layout::Kind::shift:
      writer.signed_varint(layout.shift_);
      write(*layout.child_, writer);
      break;
  }
}

LayoutRef LayoutCode::read(ByteReader& reader, int level) {
  if (level > most_levels) return nullptr;
  const auto kind = static_cast<Layout::Kind>(reader.u8());
  if (!reader.ok()) return nullptr;
  switch (kind) {
    case Layout::Kind::block:
      return Layout::block(reader.signed_varint());
    case Layout::Kind::repeat: {
      const int64_t count = reader.signed_varint();
      const int64_t stride = reader.signed_varint();
      return Layout::repeat(count, stride, read(reader, level + 1));
    }
    case Layout::Kind::runs: {
      std::vector<int64_t> displacements = read_list(reader);
      std::vector<int64_t> lengths = read_list(reader);
      // Blocks of single bytes: each length is the number of bytes.
      return Layout::indexed(std::move(displacements), std::move(lengths), 1, Layout::block(1));
    }
    case Layout::Kind::indexed: {
      std::vector<int64_t> displacements = read_list(reader);
      std::vector<int64_t> counts = read_list(reader);
      const int64_t stride = reader.signed_varint();
      return Layout::indexed(std::move(displacements), std::move(counts), stride,
                             read(reader, level + 1));
    }
    case Layout::Kind::structure: {
      std::vector<int64_t> displacements = read_list(reader);
      std::vector<LayoutRef> children;
      for (std::size_t i = 0; i < displacements.size() && reader.ok(); ++i)
        children.push_back(read(reader, level + 1));
      if (children.size() != displacements.size()) return nullptr;
      return Layout::structure(std::move(displacements), std::move(children));
    }
    case Layout::Kind::shift: {
      const int64_t shift = reader.signed_varint();
      return Layout::shifted(shift, read(reader, level + 1));
    }
  }
  return nullptr;
}

void LayoutCode::write(const Tiling& tiling, ByteWriter& writer) {
  writer.signed_varint(tiling.origin);
  writer.signed_varint(tiling.extent_bytes);
  write(*tiling.layout, writer);
}

Tiling LayoutCode::read_tiling(ByteReader& reader) {
  Tiling tiling;
  tiling.origin = reader.signed_varint();
  tiling.extent_bytes = reader.signed_varint();
  tiling.layout = read(reader);
  if (!reader.ok()) tiling.layout = nullptr;
  return tiling;
}

}  // namespace forebay
