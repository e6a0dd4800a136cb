// A flattened data type: the places of its data bytes, kept as a small tree and walked lazily. File
// types (which a view tiles over the file) and memory types use the same structure. A vector of ten
// million blocks is one node; an indexed type takes as much memory as its description.
//
// Source: MPI 4.1, sections 5.1 (type maps) and 14.3 (file views). MPI-free: src/mpiio decodes
// MPI data types into Layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "extent/extent.h"

namespace forebay {

class Layout;
class LayoutCode;  // src/trace: layouts as bytes
using LayoutRef = std::shared_ptr<const Layout>;

// Immutable once built. Offsets are relative to the type's origin (MPI's displacement 0) and may be
// negative. Order is type-map order, which for memory types need not be ascending.
//
// Normal form, which the builders ensure and walking relies on:
//   - no part is empty; a layout without data is block(0);
//   - every node but a shift has its first data byte at displacement 0, and a shift stands only at
//     the root, so a node's base is the offset of its first byte;
//   - a layout whose data is one run in order is a block, perhaps shifted; neighbouring blocks of a
//     list do not touch; copies of a block in a repeat do not touch;
//   - repeats and lists have at least two parts, so a walk's work is constant a run, amortised.
class Layout {
 public:
  // The builders. They return nullptr if the arguments describe no type (a negative count or
  // length, lists of different lengths, a null child), or if sizes or bounds exceed 64 bits.

  // One contiguous run at displacement 0.
  static LayoutRef block(int64_t bytes);
  // `count` copies of child, at 0, stride, 2 stride ...
  static LayoutRef repeat(int64_t count, int64_t stride_bytes, LayoutRef child);
  // counts[i] copies of child, spaced by child_stride, beginning at displacements[i].
  static LayoutRef indexed(std::vector<int64_t> displacements, std::vector<int64_t> counts,
                           int64_t child_stride_bytes, LayoutRef child);
  // children[i] at displacements[i], in order.
  static LayoutRef structure(std::vector<int64_t> displacements, std::vector<LayoutRef> children);
  static LayoutRef shifted(int64_t displacement, LayoutRef child);

  int64_t size() const { return size_; }         // data bytes
  int64_t true_lower() const { return lower_; }  // lowest byte holding data (0 if none)
  int64_t true_upper() const { return upper_; }  // one past the highest byte (0 if none)
  int64_t first() const { return shift_; }       // offset of the first data byte
  // All data lies in one run, in order.
  bool contiguous() const { return body().kind_ == Kind::block; }
  // Whether extents never go backwards and never overlap, as a file view needs.
  bool monotone() const { return monotone_; }
  // Number of data bytes at offsets below `offset`. Monotone layouts only.
  int64_t data_below(int64_t offset) const;
  // Memory of this tree in bytes. A part with several parents counts once per parent.
  int64_t description_bytes() const { return description_bytes_; }

 private:
  friend class Cursor;
  friend class LayoutCode;
  enum class Kind : uint8_t {
    block,      // size_ bytes
    repeat,     // count_ copies of child_, stride_ apart
    runs,       // blocks at displacements_; before_ in bytes, or count_ bytes each
    indexed,    // copies of child_ at displacements_, stride_ apart within an entry; before_ in
                // copies, or one each
    structure,  // children_ at displacements_; before_ in bytes
    shift,      // child_ moved by shift_
  };
  struct Parts;

  explicit Layout(Kind kind) : kind_(kind) {}
  static LayoutRef runs(std::vector<int64_t> displacements, std::vector<int64_t> lengths);
  static LayoutRef list(Kind kind, Parts parts);
  static std::shared_ptr<Layout> copies(int64_t count, int64_t stride, const LayoutRef& child);

  const Layout& body() const { return kind_ == Kind::shift ? *child_ : *this; }
  bool is_block() const { return kind_ == Kind::block; }
  int64_t entries() const { return static_cast<int64_t>(displacements_.size()); }
  // Bytes (runs, structure) or copies (indexed) of entry i.
  int64_t weight(int64_t i) const { return before_.empty() ? count_ : before_[i + 1] - before_[i]; }
  int64_t weight_before(int64_t i) const { return before_.empty() ? count_ * i : before_[i]; }
  int64_t entry_holding(int64_t weight) const;
  const Layout& child_of(int64_t i) const {
    return kind_ == Kind::structure ? *children_[i] : *child_;
  }

  Kind kind_;
  bool monotone_ = true;
  int32_t levels_ = 0;  // frames that walking this layout needs
  int64_t size_ = 0;
  int64_t lower_ = 0;
  int64_t upper_ = 0;
  int64_t count_ = 1;
  int64_t stride_ = 0;
  int64_t shift_ = 0;
  int64_t description_bytes_ = 0;
  LayoutRef child_;
  std::vector<int64_t> displacements_;
  std::vector<int64_t> before_;  // prefix sums, one more than entries; empty: each entry has count_
  std::vector<LayoutRef> children_;
};

// A type tiled without end: copy k begins at origin + k * extent. Data position p (bytes of data
// from the view's start) maps to one file (or memory) offset. This is a file view
// (origin = displacement, extent = the file type's extent) and also a buffer of `count` elements.
struct Tiling {
  LayoutRef layout;
  int64_t origin = 0;        // bytes
  int64_t extent_bytes = 0;  // of one copy; any value, also less than the true extent

  // Whether data position p is at offset_of(0) + p for every p.
  bool contiguous() const;
  // Whether offsets never go backwards and never repeat, over all copies.
  bool monotone() const;
  // Offset of data byte `position` (position >= 0, layout->size() > 0); the largest int64 if it
  // exceeds 64 bits. An access can be addressed if its last byte can.
  int64_t offset_of(int64_t position) const;
  // Number of data bytes at offsets below `offset` (monotone tilings only). This is the inverse of
  // offset_of, used for SEEK_END.
  int64_t data_below(int64_t offset) const;
};

// Walks a tiling from a data position on and yields maximal runs (touching neighbours are merged).
// Takes constant memory, amortised constant work per run, and O(depth * log width) work to start
// anywhere. The tiling's layout must outlive the cursor. Offsets beyond 64 bits wrap around.
class Cursor {
 public:
  Cursor(const Tiling& tiling, int64_t position);
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // The next run, at most max_bytes long; never empty for max_bytes > 0 and a non-empty layout.
  Extent next(int64_t max_bytes) {
    // Blocks of one sequence do not touch, so the next block need not be examined.
    if (more_ > 0 && run_left_ <= max_bytes) {
      const Extent run{static_cast<int64_t>(run_offset_), run_left_};
      step();
      position_ += run.length;
      return run;
    }
    return next_merged(max_bytes);
  }
  int64_t position() const { return position_; }
  // Offset of the data byte at position().
  int64_t offset() const { return static_cast<int64_t>(run_offset_); }

 private:
  // The position of the walk in one node. Blocks, repeats of blocks and runs need no frame: they
  // are the current sequence.
  struct Frame {
    const Layout* node;
    uint64_t base;  // repeat: start of the current copy; others: start of the node
    int64_t entry;  // copy of a repeat; entry of a list
    int64_t copy;   // indexed: copy within the entry
  };
  static constexpr int32_t inline_frames = 16;  // deeper nesting takes its frames from the heap

  Extent next_merged(int64_t max_bytes);
  void advance();
  void start_tile(uint64_t base, int64_t position);
  void descend(const Layout& node, uint64_t base);
  void descend(const Layout& node, uint64_t base, int64_t position);
  void enter_entry(Frame& frame);
  Frame& push(const Layout& node, uint64_t base, int64_t entry);
  void set_strided(uint64_t base, int64_t block, int64_t count, int64_t stride);
  void set_runs(const Layout& node, uint64_t base, int64_t entry);
  void seek_in_strided(int64_t position);
  void step() {  // to the next block of the sequence
    --more_;
    if (displacement_ == nullptr) {
      run_offset_ += static_cast<uint64_t>(run_left_) + gap_;
      run_left_ = block_;
      return;
    }
    run_offset_ = base_ + static_cast<uint64_t>(*++displacement_);
    run_left_ = block_;
    if (before_ != nullptr) {
      ++before_;
      run_left_ = before_[1] - before_[0];
    }
  }

  // The sequence being walked: the rest of its current block, then `more_` blocks that do not
  // touch. They are strided (displacement_ is null) or those of a runs node. Offsets are unsigned,
  // so that a step past the last run wraps instead of overflowing.
  uint64_t run_offset_ = 0;
  int64_t run_left_ = 0;
  int64_t more_ = 0;
  int64_t block_ = 0;                      // bytes of each block, if before_ is null
  uint64_t gap_ = 0;                       // strided: from a block's end to the next one
  const int64_t* displacement_ = nullptr;  // runs: displacement of the current block from base_
  const int64_t* before_ = nullptr;  // runs of several lengths: data bytes before the current block
  uint64_t base_ = 0;
  int64_t position_;

  const Layout* root_;
  uint64_t tile_base_ = 0;
  uint64_t tile_extent_;
  Frame* top_;  // one past the innermost frame
  Frame* frames_;
  std::unique_ptr<Frame[]> deep_frames_;
  Frame inline_frames_[inline_frames];
};

}  // namespace forebay
