// A balanced search tree of non-overlapping regions of a page, each clean, dirty or in flight
// (Settlemyer 5.2.2), in a bounded piece of plain memory.
//
// Invariants
//   * Regions are not empty and do not overlap; two that touch differ in their state.
//   * Nodes are linked by index and form a treap: ordered by `begin` from left to right and by
//     priority_of(index) from parent to child. As a priority is a fixed scramble of the index, it
//     takes no memory and the same operations always give the same tree.
//   * At most largest_unsaved() regions are dirty or in flight. All of them and the clean regions
//     that can lie between them fit into the nodes, so filling a page never fails.
//   * At every instruction, the dirty and in-flight regions of the nodes [0, used), linked or not,
//     together cover the bytes that storage lacks. For this, a node's region is one word, a new
//     region is stored before old ones are cut or erased, and a freed node is empty. A death may
//     leave the links and counts inconsistent; repair() computes them again.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "extent/extent.h"

namespace forebay {

class RegionTree {
 public:
  enum class State : uint32_t { clean, dirty, in_flight };
  static constexpr std::size_t states = 3;

  struct Region {
    uint32_t begin;
    uint32_t end;
    State state;

    bool empty() const { return begin == end; }
    bool unsaved() const { return state != State::clean && !empty(); }
  };

  static std::size_t state_bytes(int64_t page_size);
  RegionTree(void* state, int64_t page_size);

  void clear();

  // Makes every byte of `region` dirty. False: no room, and nothing changed. Before room runs out,
  // clean regions elsewhere are forgotten.
  bool paint_dirty(Extent region);
  // Makes the bytes of `region` that no region contains clean.
  void fill(Extent region);

  // Changes the state of all regions in state `from` to `to`.
  void convert(State from, State to);
  void forget_clean();
  void truncate(uint32_t length);

  // Appends the bytes dirty or in flight, merged and ascending. Reads the nodes only, neither links
  // nor counts.
  void unsaved(std::vector<Extent>& out) const;
  // Builds the tree again from these bytes, which become dirty.
  void repair();

  // The first maximal run of bytes within `within` that no region contains. If there is none, an
  // empty extent at the end of `within`.
  Extent first_gap(Extent within) const;
  // Calls visitor(Extent) for every such run, in ascending order. The visitor may fill the run.
  template <typename Visitor>
  void each_gap(Extent within, Visitor visitor) const {
    for (Extent gap = first_gap(within); !gap.empty();
         gap = first_gap({gap.end(), within.end() - gap.end()})) {
      visitor(gap);
    }
  }
  bool any(State state) const { return count(state) > 0; }

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
    Index free;                // first of the list of freed nodes, linked by `left`
    uint32_t used;             // nodes from this index on were never used
    uint32_t regions[states];  // in the tree, per state
  };
  struct Node {
    uint64_t region;  // packed; 0: empty
    Index left;
    Index right;
  };

  // 31 bits each for begin and end, 2 for the state.
  static uint64_t pack(Region region) {
    return region.begin | uint64_t{region.end} << 31 | static_cast<uint64_t>(region.state) << 62;
  }
  Region region(Index at) const {
    const uint64_t packed = nodes_[at].region;
    constexpr uint64_t offset_bits = (uint64_t{1} << 31) - 1;
    return {static_cast<uint32_t>(packed & offset_bits),
            static_cast<uint32_t>(packed >> 31 & offset_bits), static_cast<State>(packed >> 62)};
  }
  // One store that the compiler keeps in order with the stores before and after it.
  static void write(uint64_t& word, uint64_t value) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::atomic_ref<uint64_t>(word).store(value, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }

  static uint32_t node_count(int64_t page_size);
  static uint32_t priority_of(Index index);

  template <typename Visitor>
  void visit(Index at, Extent within, Visitor& visitor) const {
    if (at == none) return;
    const Region here = region(at);
    if (here.begin > within.offset) visit(nodes_[at].left, within, visitor);
    if (here.begin < within.end() && here.end > within.offset) visitor(here);
    if (here.end < within.end()) visit(nodes_[at].right, within, visitor);
  }

  // Keeps the nodes whose regions keep(region) accepts and frees the others. Returns the new root.
  template <typename Keep>
  Index filter(Index at, Keep keep) {
    if (at == none) return none;
    const Index left = filter(nodes_[at].left, keep);
    const Index right = filter(nodes_[at].right, keep);
    if (!keep(region(at))) {
      release(at);
      return merge(left, right);
    }
    nodes_[at].left = left;
    nodes_[at].right = right;
    return at;
  }

  // A publish that splits a region takes two new nodes before it frees one.
  uint32_t largest_unsaved() const { return (capacity_ - 3) / 2; }
  uint32_t& count(State state) const { return header_->regions[static_cast<uint32_t>(state)]; }
  uint32_t unsaved_count() const { return count(State::dirty) + count(State::in_flight); }
  uint32_t room() const { return capacity_ - count(State::clean) - unsaved_count(); }
  Index take(Region region);
  void set(Index at, Region region);
  void erase(Index at);    // empties the region, keeps the node
  void release(Index at);  // empties the region and frees the node
  void release_all(Index at);

  void split(Index at, uint32_t begin, Index& below, Index& rest);
  Index merge(Index below, Index above);
  Index leftmost(Index at) const;
  Index rightmost(Index at) const;
  Index last_from(uint32_t begin) const;    // the last region that begins at or before `begin`
  Index first_after(uint32_t begin) const;  // the first region that begins after `begin`

  void paint(Region region);
  bool extend_in_place(Region region);
  uint32_t growth(Extent region) const;

  Header* const header_;
  Node* const nodes_;
  const uint32_t capacity_;
};

}  // namespace forebay
