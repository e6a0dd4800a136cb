// The builders of layouts, which bring their arguments into normal form (layout.h), and the inverse
// map of a monotone layout. Walking is in tiling.cpp.
#include "extent/layout.h"

#include <algorithm>
#include <utility>

#include "extent/exact.h"

namespace forebay {
namespace {

// Whether `count` steps of `stride` lead from `from` to `to`.
bool reaches(int64_t from, int64_t count, int64_t stride, int64_t to) {
  Exact exact;
  const int64_t reached = exact.add(from, exact.multiply(count, stride));
  return exact.ok() && reached == to;
}

bool all_equal(const std::vector<int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

// `values` has at least two elements.
bool equally_spaced(const std::vector<int64_t>& values) {
  Exact exact;
  const int64_t spacing = exact.subtract(values[1], values[0]);
  for (std::size_t i = 2; exact.ok() && i < values.size(); ++i)
    if (!reaches(values[i - 1], 1, spacing, values[i])) return false;
  return exact.ok();
}

// Index of the last number that is at most `limit`. The numbers ascend, and the first is at most
// `limit`. Lists mostly grow evenly, so a few guesses by interpolation touch less memory than
// bisection.
int64_t last_at_or_below(const std::vector<int64_t>& ascending, int64_t limit) {
  constexpr int guesses = 6;
  constexpr std::size_t near = 16;
  std::size_t low = 0;
  std::size_t high = ascending.size() - 1;
  if (ascending[high] <= limit) return static_cast<int64_t>(high);
  for (int i = 0; i < guesses && high - low > near; ++i) {
    const auto bottom = static_cast<double>(ascending[low]);
    const double share =
        (static_cast<double>(limit) - bottom) / (static_cast<double>(ascending[high]) - bottom);
    const auto steps = static_cast<std::size_t>(share * static_cast<double>(high - low));
    const std::size_t guess = std::clamp(low + steps, low + 1, high - 1);
    (ascending[guess] <= limit ? low : high) = guess;
  }
  const auto begin = ascending.begin();
  return std::upper_bound(begin + static_cast<std::ptrdiff_t>(low),
                          begin + static_cast<std::ptrdiff_t>(high), limit) -
         begin - 1;
}

}  // namespace

// The parts of a list node. `weights` are bytes or copies per entry (see Kind).
struct Layout::Parts {
  std::vector<int64_t> displacements;
  std::vector<int64_t> weights;
  int64_t child_stride = 0;
  LayoutRef child;
  std::vector<LayoutRef> children;
};

LayoutRef Layout::block(int64_t bytes) {
  if (bytes < 0) return nullptr;
  const std::shared_ptr<Layout> node(new Layout(Kind::block));
  node->size_ = node->upper_ = bytes;
  node->description_bytes_ = sizeof(Layout);
  return node;
}

LayoutRef Layout::shifted(int64_t displacement, LayoutRef child) {
  if (!child || displacement == 0 || child->size() == 0) return child;
  Exact exact;
  const int64_t total = exact.add(displacement, child->shift_);
  if (child->kind_ == Kind::shift) child = child->child_;
  if (total == 0 && exact.ok()) return child;
  const std::shared_ptr<Layout> node(new Layout(Kind::shift));
  node->monotone_ = child->monotone_;
  node->levels_ = child->levels_;
  node->size_ = child->size_;
  node->lower_ = exact.add(child->lower_, total);
  node->upper_ = exact.add(child->upper_, total);
  node->shift_ = total;
  node->description_bytes_ = exact.add(sizeof(Layout), child->description_bytes_);
  node->child_ = std::move(child);
  return exact.ok() ? node : nullptr;
}

LayoutRef Layout::repeat(int64_t count, int64_t stride_bytes, LayoutRef child) {
  if (!child || count < 0) return nullptr;
  if (count == 0 || child->size() == 0) return block(0);
  if (count == 1) return child;
  if (child->kind_ == Kind::shift)
    return shifted(child->shift_, repeat(count, stride_bytes, child->child_));

  Exact exact;
  if (child->is_block() && stride_bytes == child->size()) {
    const int64_t bytes = exact.multiply(count, child->size());
    return exact.ok() ? block(bytes) : nullptr;
  }
  // Rows that continue each other's spacing become one longer row.
  if (child->kind_ == Kind::repeat && reaches(0, child->count_, child->stride_, stride_bytes)) {
    const int64_t total = exact.multiply(count, child->count_);
    return exact.ok() ? repeat(total, child->stride_, child->child_) : nullptr;
  }

  const std::shared_ptr<Layout> node(new Layout(Kind::repeat));
  const int64_t span = exact.multiply(count - 1, stride_bytes);
  node->monotone_ = child->monotone_ && stride_bytes >= child->upper_;
  node->levels_ = child->is_block() ? 0 : child->levels_ + 1;
  node->size_ = exact.multiply(count, child->size_);
  node->lower_ = exact.add(child->lower_, std::min<int64_t>(span, 0));
  node->upper_ = exact.add(child->upper_, std::max<int64_t>(span, 0));
  node->count_ = count;
  node->stride_ = stride_bytes;
  node->description_bytes_ = exact.add(sizeof(Layout), child->description_bytes_);
  node->child_ = std::move(child);
  return exact.ok() ? node : nullptr;
}

// Blocks of lengths[i] bytes at displacements[i].
LayoutRef Layout::runs(std::vector<int64_t> displacements, std::vector<int64_t> lengths) {
  std::size_t kept = 0;
  Exact exact;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] == 0) continue;
    if (kept > 0 && reaches(displacements[kept - 1], 1, lengths[kept - 1], displacements[i])) {
      lengths[kept - 1] = exact.add(lengths[kept - 1], lengths[i]);
      continue;
    }
    displacements[kept] = displacements[i];
    lengths[kept] = lengths[i];
    ++kept;
  }
  if (!exact.ok()) return nullptr;
  if (kept == 0) return block(0);
  displacements.resize(kept);
  lengths.resize(kept);
  if (kept == 1) return shifted(displacements[0], block(lengths[0]));
  if (all_equal(lengths) && equally_spaced(displacements))
    return shifted(
        displacements[0],
        repeat(static_cast<int64_t>(kept), displacements[1] - displacements[0], block(lengths[0])));
  return list(Kind::runs, {std::move(displacements), std::move(lengths), 0, nullptr, {}});
}

LayoutRef Layout::indexed(std::vector<int64_t> displacements, std::vector<int64_t> counts,
                          int64_t child_stride_bytes, LayoutRef child) {
  if (!child || displacements.size() != counts.size()) return nullptr;
  if (std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count < 0; }))
    return nullptr;
  if (child->size() == 0) return block(0);
  if (child->kind_ == Kind::shift)
    return shifted(child->shift_, indexed(std::move(displacements), std::move(counts),
                                          child_stride_bytes, child->child_));

  const auto at_most_one = [](int64_t count) { return count <= 1; };
  if (child->is_block() && (child_stride_bytes == child->size() ||
                            std::all_of(counts.begin(), counts.end(), at_most_one))) {
    Exact exact;
    for (int64_t& count : counts) count = exact.multiply(count, child->size());
    return exact.ok() ? runs(std::move(displacements), std::move(counts)) : nullptr;
  }

  // An entry that continues the spacing of the one before joins it.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    if (kept > 0 &&
        reaches(displacements[kept - 1], counts[kept - 1], child_stride_bytes, displacements[i])) {
      Exact exact;
      counts[kept - 1] = exact.add(counts[kept - 1], counts[i]);
      if (!exact.ok()) return nullptr;
      continue;
    }
    displacements[kept] = displacements[i];
    counts[kept] = counts[i];
    ++kept;
  }
  if (kept == 0) return block(0);
  displacements.resize(kept);
  counts.resize(kept);
  if (kept == 1)
    return shifted(displacements[0], repeat(counts[0], child_stride_bytes, std::move(child)));
  if (all_equal(counts)) {
    child = repeat(counts[0], child_stride_bytes, std::move(child));
    if (!child) return nullptr;
    if (equally_spaced(displacements))
      return shifted(displacements[0],
                     repeat(static_cast<int64_t>(kept), displacements[1] - displacements[0],
                            std::move(child)));
    counts.assign(kept, 1);
  }
  return list(
      Kind::indexed,
      {std::move(displacements), std::move(counts), child_stride_bytes, std::move(child), {}});
}

LayoutRef Layout::structure(std::vector<int64_t> displacements, std::vector<LayoutRef> children) {
  if (displacements.size() != children.size()) return nullptr;
  Exact exact;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    LayoutRef child = std::move(children[i]);
    if (!child) return nullptr;
    if (child->size() == 0) continue;
    const int64_t displacement = exact.add(displacements[i], child->shift_);
    if (child->kind_ == Kind::shift) child = child->child_;
    LayoutRef& last = children[kept == 0 ? 0 : kept - 1];
    if (kept > 0 && last->is_block() && child->is_block() &&
        reaches(displacements[kept - 1], 1, last->size(), displacement)) {
      const int64_t bytes = exact.add(last->size(), child->size());
      if (!exact.ok()) return nullptr;
      last = block(bytes);
      continue;
    }
    displacements[kept] = displacement;
    children[kept] = std::move(child);
    ++kept;
  }
  if (!exact.ok()) return nullptr;
  if (kept == 0) return block(0);
  displacements.resize(kept);
  children.resize(kept);
  if (kept == 1) return shifted(displacements[0], children[0]);

  std::vector<int64_t> sizes(kept);
  for (std::size_t i = 0; i < kept; ++i) sizes[i] = children[i]->size();
  const auto is_block = [](const LayoutRef& child) { return child->is_block(); };
  if (std::all_of(children.begin(), children.end(), is_block))
    return runs(std::move(displacements), std::move(sizes));
  if (std::adjacent_find(children.begin(), children.end(), std::not_equal_to<>()) == children.end())
    return indexed(std::move(displacements), std::vector<int64_t>(kept, 1), 0, children[0]);
  return list(Kind::structure,
              {std::move(displacements), std::move(sizes), 0, nullptr, std::move(children)});
}

// Makes a list node, shifted so that its first entry is at 0.
LayoutRef Layout::list(Kind kind, Parts parts) {
  const std::shared_ptr<Layout> node(new Layout(kind));
  const int64_t first = parts.displacements[0];
  const bool uniform = kind != Kind::structure && all_equal(parts.weights);
  Exact exact;
  if (!uniform) node->before_.reserve(parts.weights.size() + 1);
  node->description_bytes_ = sizeof(Layout);
  int64_t before = 0;
  int64_t previous_end = 0;
  for (std::size_t i = 0; i < parts.weights.size(); ++i) {
    int64_t& displacement = parts.displacements[i];
    displacement = exact.subtract(displacement, first);
    const Layout* child = kind == Kind::structure ? parts.children[i].get() : parts.child.get();
    const int64_t copies = kind == Kind::indexed ? parts.weights[i] : 1;
    const int64_t span = exact.multiply(copies - 1, parts.child_stride);
    const int64_t lower = exact.add(displacement, std::min<int64_t>(span, 0));
    const int64_t upper = exact.add(displacement, std::max<int64_t>(span, 0));
    const int64_t end = exact.add(upper, child ? child->upper_ : parts.weights[i]);
    node->lower_ = std::min(node->lower_, exact.add(lower, child ? child->lower_ : 0));
    node->upper_ = std::max(node->upper_, end);
    node->monotone_ &= displacement >= previous_end && (!child || child->monotone_) &&
                       (copies == 1 || parts.child_stride >= child->upper_);
    previous_end = end;
    if (!uniform) node->before_.push_back(before);
    before = exact.add(before, parts.weights[i]);
    if (kind == Kind::structure) {
      node->levels_ = std::max(node->levels_, child->levels_);
      node->description_bytes_ = exact.add(node->description_bytes_, child->description_bytes_);
    }
  }
  if (!uniform) node->before_.push_back(before);
  node->size_ = kind == Kind::indexed ? exact.multiply(before, parts.child->size_) : before;
  node->count_ = uniform ? parts.weights[0] : 0;
  node->stride_ = parts.child_stride;
  if (kind == Kind::indexed) {
    node->levels_ = parts.child->levels_;
    node->description_bytes_ = exact.add(node->description_bytes_, parts.child->description_bytes_);
  }
  if (kind != Kind::runs) ++node->levels_;
  const std::size_t words = parts.displacements.size() + node->before_.size();
  node->description_bytes_ = exact.add(
      node->description_bytes_,
      static_cast<int64_t>(words * sizeof(int64_t) + parts.children.size() * sizeof(LayoutRef)));
  node->displacements_ = std::move(parts.displacements);
  node->child_ = std::move(parts.child);
  node->children_ = std::move(parts.children);
  return exact.ok() ? shifted(first, node) : nullptr;
}

int64_t Layout::entry_holding(int64_t weight) const {
  return before_.empty() ? weight / count_ : last_at_or_below(before_, weight);
}

int64_t Layout::data_below(int64_t offset) const {
  int64_t below = 0;
  const Layout* node = this;
  for (;;) {
    if (offset <= node->lower_) return below;
    if (offset >= node->upper_) return below + node->size_;
    int64_t copies = 0;  // whole copies of the child below the offset
    switch (node->kind_) {
      case Kind::block:
        return below + offset;
      case Kind::shift:
        offset -= node->shift_;
        break;
      case Kind::repeat:
        copies = std::min(offset / node->stride_, node->count_ - 1);
        offset -= copies * node->stride_;
        break;
      case Kind::runs: {
        const int64_t entry = last_at_or_below(node->displacements_, offset);
        return below + node->weight_before(entry) +
               std::min(offset - node->displacements_[entry], node->weight(entry));
      }
      case Kind::structure: {
        const int64_t entry = last_at_or_below(node->displacements_, offset);
        offset -= node->displacements_[entry];
        below += node->before_[entry];
        node = node->children_[entry].get();
        continue;
      }
      case Kind::indexed: {
        const int64_t entry = last_at_or_below(node->displacements_, offset);
        offset -= node->displacements_[entry];
        const int64_t last_copy = node->weight(entry) - 1;
        const int64_t copy = last_copy == 0 ? 0 : std::min(offset / node->stride_, last_copy);
        offset -= copy * node->stride_;
        copies = node->weight_before(entry) + copy;
        break;
      }
    }
    node = node->child_.get();
    below += copies * node->size_;
  }
}

}  // namespace forebay
