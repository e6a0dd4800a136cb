// A flattened data type: where its data bytes lie, kept as a small tree and walked lazily.
// The same structure serves file types (tiled over the file by a view) and memory types.
// A vector of ten million blocks is one node; an indexed type costs its own description.
//
// Source: MPI 4.1, sections 5.1 (type maps) and 14.3 (file views). MPI-free: src/mpiio decodes
// MPI data types into Layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "extent/extent.h"

namespace forebay {

class Layout;
using LayoutRef = std::shared_ptr<const Layout>;

// Immutable once built. Offsets are relative to the type's origin (MPI's displacement 0) and may be
// negative. Order is type-map order, which for memory types need not be ascending.
class Layout {
 public:
  // Builders normalise: adjacent blocks merge, a repeat whose copies touch becomes one block,
  // one-element lists vanish, empty children are dropped.
  static LayoutRef block(int64_t bytes);  // one contiguous run at displacement 0
  static LayoutRef repeat(int64_t count, int64_t stride_bytes, LayoutRef child);
  // counts[i] copies of child, spaced by child_stride, beginning at displacements[i].
  static LayoutRef indexed(std::vector<int64_t> displacements, std::vector<int64_t> counts,
                           int64_t child_stride_bytes, LayoutRef child);
  // children[i] at displacements[i], in order.
  static LayoutRef structure(std::vector<int64_t> displacements, std::vector<LayoutRef> children);
  static LayoutRef shifted(int64_t displacement, LayoutRef child);

  int64_t size() const;        // data bytes
  int64_t true_lower() const;  // lowest byte holding data (0 if none)
  int64_t true_upper() const;  // one past the highest byte holding data (0 if none)
  bool contiguous() const;     // all data in one run, in order
  bool monotone() const;       // extents never go backwards nor overlap (what a file view needs)
  int64_t description_bytes() const;  // memory this tree takes
};

// A type tiled without end: copy k begins at origin + k * extent. Data position p (bytes of data
// from the view's start) maps to one file (or memory) offset. This is a file view
// (origin = displacement, extent = the file type's extent) and also a buffer of `count` elements.
struct Tiling {
  LayoutRef layout;
  int64_t origin = 0;        // bytes
  int64_t extent_bytes = 0;  // of one copy; may be anything, also less than the true extent

  bool contiguous() const;  // data position p lies at origin' + p for every p
  // Offset of data byte `position` (any position >= 0; layout->size() > 0).
  int64_t offset_of(int64_t position) const;
  // Number of data bytes at offsets below `offset` (monotone tilings only): the inverse map, used
  // for SEEK_END.
  int64_t data_below(int64_t offset) const;
};

// Walks a tiling from a data position; yields maximal runs (touching neighbours merged). Constant
// memory, amortised constant work a run, O(depth * log width) to start anywhere.
class Cursor {
 public:
  Cursor(const Tiling& tiling, int64_t position);
  // The next run, at most max_bytes long; never empty for max_bytes > 0 and a non-empty layout.
  Extent next(int64_t max_bytes);
  int64_t position() const;
};

}  // namespace forebay
