// A balanced search tree of non-overlapping regions of a page, each clean or dirty (Settlemyer
// 5.2.2), in a bounded piece of plain memory.
//
// Invariants
//   * Regions are not empty and do not overlap; two that touch differ in their flag.
//   * Nodes are linked by index and form a treap: ordered by `begin` from left to right and by
//     priority_of(index) from parent to child. As a priority is a fixed scramble of the index, it
//     takes no memory and the same operations always give the same tree.
//   * At most largest_dirty() regions are dirty. All of them and the clean regions that can lie
//     between them fit into the nodes, so filling a page never fails.
#pragma once

#include <cstdint>

#include "extent/extent.h"

namespace forebay {

class RegionTree {
 public:
  struct Region {
    uint32_t begin;
    uint32_t end;
    bool dirty;
  };

  static std::size_t state_bytes(int64_t page_size);
  RegionTree(void* state, int64_t page_size);

  void clear();

  // Makes every byte of `region` clean or dirty. False: no room, nothing changed. Clean regions
  // elsewhere are forgotten before room runs out.
  bool paint_dirty(Extent region);
  // Makes the bytes of `region` that are in no region clean.
  void fill(Extent region);

  // All dirty regions become clean.
  void clean();
  void forget_clean();
  void truncate(uint32_t length);

  // The first maximal run of bytes in no region within `within`; empty, at its end, when none.
  Extent first_gap(Extent within) const;
  // Calls visitor(Extent) for every such run, in ascending order; it may fill the run it is given.
  template <typename Visitor>
  void each_gap(Extent within, Visitor visitor) const {
    for (Extent gap = first_gap(within); !gap.empty();
         gap = first_gap({gap.end(), within.end() - gap.end()})) {
      visitor(gap);
    }
  }
  bool any_dirty() const { return header_->dirty > 0; }

  // Calls visitor(Region) for all regions that intersect `within`, in ascending order.
  template <typename Visitor>
  void visit(Extent within, Visitor visitor) const {
    visit(header_->root, within, visitor);
  }

 private:
  using Index = uint32_t;
  static constexpr Index none = 0xffffffffu;

  struct Header {
    Index root;
    Index free;      // first of the list of freed nodes, linked by `left`
    uint32_t used;   // nodes at and beyond this index were never taken
    uint32_t live;   // nodes in the tree
    uint32_t dirty;  // of them dirty
    uint32_t unused;
  };
  struct Node {
    uint32_t begin;
    uint32_t end : 31;
    uint32_t dirty : 1;
    Index left;
    Index right;
  };

  static uint32_t node_count(int64_t page_size);
  static uint32_t priority_of(Index index);

  template <typename Visitor>
  void visit(Index at, Extent within, Visitor& visitor) const {
    if (at == none) return;
    const Node& node = nodes_[at];
    if (node.begin > within.offset) visit(node.left, within, visitor);
    if (node.begin < within.end() && node.end > within.offset) {
      visitor(Region{node.begin, node.end, node.dirty != 0});
    }
    if (node.end < within.end()) visit(node.right, within, visitor);
  }

  // Keeps the nodes that keep(node) accepts, frees the others; returns the new root.
  template <typename Keep>
  Index filter(Index at, Keep keep) {
    if (at == none) return none;
    const Index left = filter(nodes_[at].left, keep);
    const Index right = filter(nodes_[at].right, keep);
    if (!keep(nodes_[at])) {
      release(at);
      return merge(left, right);
    }
    nodes_[at].left = left;
    nodes_[at].right = right;
    return at;
  }

  uint32_t largest_dirty() const { return (capacity_ - 3) / 2; }
  uint32_t room() const { return capacity_ - header_->live; }
  Index take(Region region);
  void release(Index at);
  void release_all(Index at);

  void split(Index at, uint32_t begin, Index& below, Index& rest);
  Index merge(Index below, Index above);
  Index leftmost(Index at) const;
  Index rightmost(Index at) const;
  Index last_from(uint32_t begin) const;    // the last region that begins at or before
  Index first_after(uint32_t begin) const;  // the first region that begins after

  void paint(Region region);
  bool extend_in_place(Region region);
  bool touches_dirty(Extent region) const;

  Header* const header_;
  Node* const nodes_;
  const uint32_t capacity_;
};

}  // namespace forebay
