// Walking a tiled layout. A cursor works like an odometer over the tree: it has one frame per node
// with several parts, down to the current strided sequence of blocks, which needs only arithmetic.
#include <algorithm>
#include <limits>

#include "extent/exact.h"
#include "extent/layout.h"

namespace forebay {
namespace {

constexpr int64_t endless = std::numeric_limits<int64_t>::max();

uint64_t offset_by(uint64_t base, int64_t index, int64_t stride) {
  return base + static_cast<uint64_t>(index) * static_cast<uint64_t>(stride);
}

// Whole copies before data position `position`. The common case needs no division.
int64_t copies_before(int64_t position, int64_t size) {
  return position < size ? 0 : position / size;
}

}  // namespace

bool Tiling::contiguous() const { return layout->contiguous() && extent_bytes == layout->size(); }

bool Tiling::monotone() const {
  Exact exact;
  const int64_t true_extent = exact.subtract(layout->true_upper(), layout->true_lower());
  return layout->monotone() && exact.ok() && true_extent <= extent_bytes;
}

int64_t Tiling::offset_of(int64_t position) const {
  Exact exact;
  const int64_t copy = copies_before(position, layout->size());
  const int64_t base = exact.add(origin, exact.multiply(copy, extent_bytes));
  exact.add(base, layout->true_upper());
  exact.add(base, layout->true_lower());
  return exact.ok() ? Cursor(*this, position).offset() : std::numeric_limits<int64_t>::max();
}

int64_t Tiling::data_below(int64_t offset) const {
  Exact exact;
  const int64_t first = exact.add(origin, layout->true_lower());
  if (layout->size() == 0 || !exact.ok() || offset <= first) return 0;
  // Unsigned: the distance may be twice the largest signed number.
  const uint64_t distance = static_cast<uint64_t>(offset) - static_cast<uint64_t>(first);
  const auto extent = static_cast<uint64_t>(extent_bytes);
  const auto within = static_cast<int64_t>(distance % extent);
  const uint64_t below = distance / extent * static_cast<uint64_t>(layout->size()) +
                         static_cast<uint64_t>(layout->data_below(layout->true_lower() + within));
  return static_cast<int64_t>(std::min(below, static_cast<uint64_t>(endless)));
}

Cursor::Cursor(const Tiling& tiling, int64_t position)
    : position_(position),
      root_(&tiling.layout->body()),
      tile_extent_(static_cast<uint64_t>(tiling.extent_bytes)),
      top_(inline_frames_),
      frames_(inline_frames_) {
  const Layout& root = *root_;
  const uint64_t origin =
      static_cast<uint64_t>(tiling.origin) + static_cast<uint64_t>(tiling.layout->first());
  run_offset_ = origin;
  if (root.size() == 0) return;

  if (tiling.contiguous()) {
    set_strided(offset_by(origin, position, 1), endless, 1, 0);
    return;
  }
  // A tiled block is one endless sequence, and so is a tiled repeat of blocks that keeps its
  // spacing.
  const bool keeps_spacing = root.kind_ == Layout::Kind::repeat && root.child_->is_block() &&
                             tile_extent_ == offset_by(0, root.count_, root.stride_);
  if (root.is_block() || keeps_spacing) {
    if (keeps_spacing)
      set_strided(origin, root.child_->size(), endless, root.stride_);
    else
      set_strided(origin, root.size(), endless, tiling.extent_bytes);
    seek_in_strided(position);
    return;
  }

  if (root.levels_ > inline_frames) {
    deep_frames_ = std::make_unique_for_overwrite<Frame[]>(root.levels_);
    top_ = frames_ = deep_frames_.get();
  }
  const int64_t copy = copies_before(position, root.size());
  tile_base_ = offset_by(origin, copy, tiling.extent_bytes);
  descend(root, tile_base_, position - copy * root.size());
}

// Takes the rest of the current block, and the blocks after it while they touch.
Extent Cursor::next_merged(int64_t max_bytes) {
  const uint64_t begin = run_offset_;
  int64_t length = 0;
  while (length < max_bytes && run_offset_ == begin + static_cast<uint64_t>(length)) {
    const int64_t taken = std::min(run_left_, max_bytes - length);
    if (taken == 0) break;  // the layout has no data
    length += taken;
    run_left_ -= taken;
    run_offset_ += static_cast<uint64_t>(taken);
    if (run_left_ == 0) advance();
  }
  position_ += length;
  return {static_cast<int64_t>(begin), length};
}

// Goes to the next block in type-map order, after the current one was used up.
void Cursor::advance() {
  if (more_ > 0) return step();
  for (; top_ != frames_; --top_) {
    Frame& frame = top_[-1];
    const Layout& node = *frame.node;
    switch (node.kind_) {
      case Layout::Kind::repeat:
        if (++frame.entry == node.count_) continue;
        frame.base += static_cast<uint64_t>(node.stride_);
        return descend(*node.child_, frame.base);
      case Layout::Kind::indexed:
        if (!node.child_->is_block() && ++frame.copy < node.weight(frame.entry))
          return descend(
              *node.child_,
              offset_by(frame.base + static_cast<uint64_t>(node.displacements_[frame.entry]),
                        frame.copy, node.stride_));
        [[fallthrough]];
      default:
        if (++frame.entry == node.entries()) continue;
        return enter_entry(frame);
    }
  }
  tile_base_ += tile_extent_;
  descend(*root_, tile_base_);
}

// Goes to the first byte of a node; that byte is at `base`.
void Cursor::descend(const Layout& node, uint64_t base) {
  const Layout* current = &node;
  for (; current->kind_ == Layout::Kind::repeat && !current->child_->is_block();
       current = current->child_.get())
    push(*current, base, 0);
  if (current->kind_ == Layout::Kind::runs) return set_runs(*current, base, 0);
  if (current->is_block()) return set_strided(base, current->size_, 1, 0);
  if (current->kind_ == Layout::Kind::repeat)
    return set_strided(base, current->child_->size_, current->count_, current->stride_);
  enter_entry(push(*current, base, 0));
}

// Goes to the first byte of the list entry that `frame` names.
void Cursor::enter_entry(Frame& frame) {
  const Layout& node = *frame.node;
  const uint64_t base = frame.base + static_cast<uint64_t>(node.displacements_[frame.entry]);
  frame.copy = 0;
  const Layout& child = node.child_of(frame.entry);
  if (node.kind_ == Layout::Kind::indexed && child.is_block())
    return set_strided(base, child.size_, node.weight(frame.entry), node.stride_);
  descend(child, base);
}

// Goes to data byte `position` of the node.
void Cursor::descend(const Layout& node, uint64_t base, int64_t position) {
  const Layout* current = &node;
  for (;;) {
    switch (current->kind_) {
      case Layout::Kind::shift:  // only the root is a shift
        return;
      case Layout::Kind::block:
        set_strided(base, current->size_, 1, 0);
        return seek_in_strided(position);
      case Layout::Kind::repeat: {
        const Layout& child = *current->child_;
        if (child.is_block()) {
          set_strided(base, child.size_, current->count_, current->stride_);
          return seek_in_strided(position);
        }
        const int64_t copy = copies_before(position, child.size_);
        base = offset_by(base, copy, current->stride_);
        position -= copy * child.size_;
        push(*current, base, copy);
        break;
      }
      case Layout::Kind::runs: {
        const int64_t entry = current->entry_holding(position);
        set_runs(*current, base, entry);
        run_offset_ += static_cast<uint64_t>(position - current->weight_before(entry));
        run_left_ -= position - current->weight_before(entry);
        return;
      }
      case Layout::Kind::structure: {
        const int64_t entry = current->entry_holding(position);
        push(*current, base, entry);
        position -= current->weight_before(entry);
        base += static_cast<uint64_t>(current->displacements_[entry]);
        break;
      }
      case Layout::Kind::indexed: {
        const Layout& child = *current->child_;
        const int64_t copies = copies_before(position, child.size_);
        const int64_t entry = current->entry_holding(copies);
        const int64_t copy = copies - current->weight_before(entry);
        Frame& frame = push(*current, base, entry);
        frame.copy = copy;
        position -= (copies - copy) * child.size_;
        if (child.is_block()) {
          enter_entry(frame);
          return seek_in_strided(position);
        }
        position -= copy * child.size_;
        base = offset_by(base + static_cast<uint64_t>(current->displacements_[entry]), copy,
                         current->stride_);
        break;
      }
    }
    current = &current->child_of(top_[-1].entry);
  }
}

Cursor::Frame& Cursor::push(const Layout& node, uint64_t base, int64_t entry) {
  *top_ = {&node, base, entry, 0};
  return *top_++;
}

void Cursor::set_strided(uint64_t base, int64_t block, int64_t count, int64_t stride) {
  run_offset_ = base;
  run_left_ = block_ = block;
  more_ = count - 1;
  gap_ = static_cast<uint64_t>(stride) - static_cast<uint64_t>(block);
  displacement_ = nullptr;
}

void Cursor::set_runs(const Layout& node, uint64_t base, int64_t entry) {
  base_ = base;
  displacement_ = node.displacements_.data() + entry;
  before_ = node.before_.empty() ? nullptr : node.before_.data() + entry;
  run_offset_ = base + static_cast<uint64_t>(*displacement_);
  run_left_ = node.weight(entry);
  block_ = node.count_;
  more_ = node.entries() - 1 - entry;
}

void Cursor::seek_in_strided(int64_t position) {
  const int64_t blocks = copies_before(position, block_);
  const int64_t within = position - blocks * block_;
  run_offset_ += static_cast<uint64_t>(blocks) * (static_cast<uint64_t>(block_) + gap_) +
                 static_cast<uint64_t>(within);
  run_left_ -= within;
  more_ -= blocks;
}

}  // namespace forebay
