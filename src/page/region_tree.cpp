#include "page/region_tree.h"

#include <algorithm>
#include <utility>

namespace forebay {
namespace {

// What a mask takes: two bits a byte of the page.
constexpr int64_t state_share = 4;
constexpr int64_t fewest_nodes = 16;

}  // namespace

uint32_t RegionTree::node_count(int64_t page_size) {
  const auto header = static_cast<int64_t>(sizeof(Header));
  const auto node = static_cast<int64_t>(sizeof(Node));
  return static_cast<uint32_t>(std::max(fewest_nodes, (page_size / state_share - header) / node));
}

std::size_t RegionTree::state_bytes(int64_t page_size) {
  return sizeof(Header) + node_count(page_size) * sizeof(Node);
}

RegionTree::RegionTree(void* state, int64_t page_size)
    : header_(static_cast<Header*>(state)),
      nodes_(reinterpret_cast<Node*>(header_ + 1)),
      capacity_(node_count(page_size)) {}

void RegionTree::clear() { *header_ = {none, none, 0, 0, 0, 0}; }

bool RegionTree::paint_dirty(Extent region) {
  if (header_->dirty >= largest_dirty() && !touches_dirty(region)) return false;
  // A region that splits another one takes two nodes more.
  if (room() < 2) forget_clean();
  paint({static_cast<uint32_t>(region.offset), static_cast<uint32_t>(region.end()), true});
  return true;
}

void RegionTree::fill(Extent region) {
  uint32_t gaps = 0;
  each_gap(region, [&gaps](Extent) { ++gaps; });
  // What is forgotten here within `region` was in place before and is filled again below.
  if (room() < gaps) forget_clean();
  each_gap(region, [this](Extent gap) {
    paint({static_cast<uint32_t>(gap.offset), static_cast<uint32_t>(gap.end()), false});
  });
}

void RegionTree::clean() {
  Node* before = nullptr;
  const auto join = [&](auto&& self, Index at) -> void {
    if (at == none) return;
    Node& node = nodes_[at];
    self(self, node.left);
    node.dirty = 0;
    if (before != nullptr && before->end == node.begin) {
      before->end = node.end;
      node.end = node.begin;  // empty, to be dropped
    } else {
      before = &node;
    }
    self(self, node.right);
  };
  join(join, header_->root);
  header_->dirty = 0;
  header_->root = filter(header_->root, [](const Node& node) { return node.end > node.begin; });
}

void RegionTree::forget_clean() {
  header_->root = filter(header_->root, [](const Node& node) { return node.dirty != 0; });
}

void RegionTree::truncate(uint32_t length) {
  Index below = none;
  Index rest = none;
  split(header_->root, length, below, rest);
  release_all(rest);
  header_->root = below;
  if (below == none) return;
  Node& last = nodes_[rightmost(below)];
  last.end = std::min<uint32_t>(last.end, length);
}

Extent RegionTree::first_gap(Extent within) const {
  auto begin = static_cast<uint32_t>(within.offset);
  const auto end = static_cast<uint32_t>(within.end());
  for (Index at = last_from(begin); at != none && nodes_[at].end > begin; at = last_from(begin)) {
    begin = nodes_[at].end;
  }
  if (begin >= end) return {within.end(), 0};
  const Index next = first_after(begin);
  const uint32_t stop = next == none ? end : std::min(end, nodes_[next].begin);
  return {begin, stop - begin};
}

// Cuts the region out of what is there and puts it in, merged with neighbours of the same flag.
void RegionTree::paint(Region region) {
  if (extend_in_place(region)) return;
  Index below = none;
  Index covered = none;
  Index above = none;
  split(header_->root, region.begin, below, covered);
  split(covered, region.end, covered, above);

  Region rest{region.end, region.end, false};  // what a cut region leaves on the right
  const auto absorb_or_cut = [&](const Node& node) {
    if ((node.dirty != 0) == region.dirty) {
      region.end = std::max<uint32_t>(region.end, node.end);
    } else if (node.end > region.end) {
      rest = {region.end, node.end, node.dirty != 0};
    }
  };
  if (below != none) {
    const Index last = rightmost(below);
    Node& node = nodes_[last];
    if (node.end >= region.begin) {
      absorb_or_cut(node);
      if ((node.dirty != 0) == region.dirty) {
        const uint32_t begin = node.begin;
        Index removed = none;
        split(below, begin, below, removed);
        release(removed);
        region.begin = begin;
      } else {
        node.end = region.begin;
      }
    }
  }
  if (covered != none) absorb_or_cut(nodes_[rightmost(covered)]);
  release_all(covered);
  if (above != none && rest.begin == rest.end) {
    const Node& first = nodes_[leftmost(above)];
    if (first.begin == region.end && (first.dirty != 0) == region.dirty) {
      Index removed = none;
      region.end = first.end;
      split(above, first.begin + 1, removed, above);
      release(removed);
    }
  }
  if (rest.end > rest.begin) above = merge(take(rest), above);
  header_->root = merge(merge(below, take(region)), above);
}

// The common case of records that follow each other: only the end of one region moves.
bool RegionTree::extend_in_place(Region region) {
  const Index at = last_from(region.begin);
  if (at == none) return false;
  Node& node = nodes_[at];
  if ((node.dirty != 0) != region.dirty || node.end < region.begin) return false;
  if (node.end >= region.end) return true;
  const Index next = first_after(region.begin);
  if (next != none && nodes_[next].begin <= region.end) return false;
  node.end = region.end;
  return true;
}

bool RegionTree::touches_dirty(Extent region) const {
  bool touches = false;
  visit({region.offset - 1, region.length + 2},
        [&touches](const Region& other) { touches = touches || other.dirty; });
  return touches;
}

RegionTree::Index RegionTree::take(Region region) {
  Index at = header_->free;
  if (at != none) {
    header_->free = nodes_[at].left;
  } else {
    at = header_->used++;
  }
  nodes_[at] = {region.begin, region.end, region.dirty, none, none};
  ++header_->live;
  header_->dirty += region.dirty;
  return at;
}

void RegionTree::release(Index at) {
  --header_->live;
  header_->dirty -= nodes_[at].dirty;
  nodes_[at].left = header_->free;
  header_->free = at;
}

void RegionTree::release_all(Index at) {
  if (at == none) return;
  const Node node = nodes_[at];
  release(at);
  release_all(node.left);
  release_all(node.right);
}

// `below` gets the regions that begin before `begin`, `rest` the others.
void RegionTree::split(Index at, uint32_t begin, Index& below, Index& rest) {
  if (at == none) {
    below = none;
    rest = none;
  } else if (nodes_[at].begin < begin) {
    below = at;
    split(nodes_[at].right, begin, nodes_[at].right, rest);
  } else {
    rest = at;
    split(nodes_[at].left, begin, below, nodes_[at].left);
  }
}

RegionTree::Index RegionTree::merge(Index below, Index above) {
  if (below == none) return above;
  if (above == none) return below;
  if (priority_of(below) > priority_of(above)) {
    nodes_[below].right = merge(nodes_[below].right, above);
    return below;
  }
  nodes_[above].left = merge(below, nodes_[above].left);
  return above;
}

RegionTree::Index RegionTree::leftmost(Index at) const {
  while (nodes_[at].left != none) at = nodes_[at].left;
  return at;
}

RegionTree::Index RegionTree::rightmost(Index at) const {
  while (nodes_[at].right != none) at = nodes_[at].right;
  return at;
}

RegionTree::Index RegionTree::last_from(uint32_t begin) const {
  Index found = none;
  for (Index at = header_->root; at != none;) {
    const bool from = nodes_[at].begin <= begin;
    if (from) found = at;
    at = from ? nodes_[at].right : nodes_[at].left;
  }
  return found;
}

RegionTree::Index RegionTree::first_after(uint32_t begin) const {
  Index found = none;
  for (Index at = header_->root; at != none;) {
    const bool after = nodes_[at].begin > begin;
    if (after) found = at;
    at = after ? nodes_[at].left : nodes_[at].right;
  }
  return found;
}

// A one-to-one scramble (odd multipliers, shifts of the high half into the low one), so that no two
// nodes have the same priority.
uint32_t RegionTree::priority_of(Index index) {
  uint32_t x = (index + 1) * 0x9e3779b1u;
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  return x;
}

}  // namespace forebay
