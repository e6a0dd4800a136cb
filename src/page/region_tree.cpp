#include "page/region_tree.h"

#include <algorithm>
#include <utility>

namespace forebay {
namespace {

// The tree takes a quarter of the page's size: two bits per byte. A mask takes three.
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

void RegionTree::clear() {
  // With no used node, no node counts, whatever the memory held.
  std::atomic_ref<uint32_t>(header_->used).store(0, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  *header_ = {none, none, 0, {}};
}

bool RegionTree::paint_dirty(Extent region) {
  // A region adds at most two.
  if (unsaved_count() + 2 > largest_unsaved() &&
      unsaved_count() + growth(region) > largest_unsaved()) {
    return false;
  }
  if (room() < 2) forget_clean();
  paint({static_cast<uint32_t>(region.offset), static_cast<uint32_t>(region.end()), State::dirty});
  return true;
}

void RegionTree::fill(Extent region) {
  uint32_t gaps = 0;
  each_gap(region, [&gaps](Extent) { ++gaps; });
  // Regions within `region` that are forgotten here were in place before; they are filled again
  // below.
  if (room() < gaps) forget_clean();
  each_gap(region, [this](Extent gap) {
    paint({static_cast<uint32_t>(gap.offset), static_cast<uint32_t>(gap.end()), State::clean});
  });
}

void RegionTree::convert(State from, State to) {
  if (!any(from)) return;
  Index before = none;
  bool joined = false;
  const auto join = [&](auto&& self, Index at) -> void {
    if (at == none) return;
    self(self, nodes_[at].left);
    Region here = region(at);
    if (here.state == from) {
      here.state = to;
      set(at, here);
    }
    const Region last = before == none ? Region{} : region(before);
    if (!last.empty() && last.end == here.begin && last.state == here.state) {
      set(before, {last.begin, here.end, last.state});
      erase(at);
      joined = true;
    } else {
      before = at;
    }
    self(self, nodes_[at].right);
  };
  join(join, header_->root);
  if (!joined) return;
  header_->root = filter(header_->root, [](const Region& region) { return !region.empty(); });
}

void RegionTree::forget_clean() {
  if (!any(State::clean)) return;
  header_->root = filter(header_->root, [](const Region& region) { return region.unsaved(); });
}

void RegionTree::truncate(uint32_t length) {
  Index below = none;
  Index rest = none;
  split(header_->root, length, below, rest);
  release_all(rest);
  header_->root = below;
  if (below == none) return;
  const Index last = rightmost(below);
  Region region = this->region(last);
  if (region.end <= length) return;
  region.end = length;
  set(last, region);
}

void RegionTree::unsaved(std::vector<Extent>& out) const {
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  for (Index at = 0; at < header_->used; ++at) {
    const Region here = region(at);
    if (here.unsaved()) out.push_back({here.begin, here.end - here.begin});
  }
  const auto begin = out.begin() + first;
  std::sort(begin, out.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  auto last = begin;
  for (auto next = begin; next != out.end(); ++next) {
    if (next == last) continue;
    if (next->offset <= last->end()) {
      last->length = std::max(last->end(), next->end()) - last->offset;
    } else {
      *++last = *next;
    }
  }
  if (last != out.end()) out.erase(last + 1, out.end());
}

// Stores each merged region in the node that begins it, before it empties the nodes that the region
// covers. So a death in here does not change which bytes are unsaved.
void RegionTree::repair() {
  std::vector<Index> order;
  for (Index at = 0; at < header_->used; ++at) {
    if (region(at).unsaved()) {
      order.push_back(at);
    } else {
      write(nodes_[at].region, 0);
    }
  }
  std::sort(order.begin(), order.end(),
            [this](Index a, Index b) { return region(a).begin < region(b).begin; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < order.size();) {
    Region merged = region(order[i]);
    merged.state = State::dirty;
    std::size_t next = i + 1;
    for (; next < order.size() && region(order[next]).begin <= merged.end; ++next) {
      merged.end = std::max(merged.end, region(order[next]).end);
    }
    write(nodes_[order[i]].region, pack(merged));
    for (std::size_t covered = i + 1; covered < next; ++covered) {
      write(nodes_[order[covered]].region, 0);
    }
    order[kept++] = order[i];
    i = next;
  }
  order.resize(kept);

  header_->root = none;
  header_->free = none;
  for (uint32_t& count : header_->regions) count = 0;
  count(State::dirty) = static_cast<uint32_t>(kept);
  for (const Index at : order) {
    nodes_[at].left = none;
    nodes_[at].right = none;
    header_->root = merge(header_->root, at);
  }
  for (Index at = header_->used; at-- > 0;) {
    if (region(at).empty()) release(at);
  }
}

Extent RegionTree::first_gap(Extent within) const {
  auto begin = static_cast<uint32_t>(within.offset);
  const auto end = static_cast<uint32_t>(within.end());
  for (Index at = last_from(begin); at != none && region(at).end > begin; at = last_from(begin)) {
    begin = region(at).end;
  }
  if (begin >= end) return {within.end(), 0};
  const Index next = first_after(begin);
  const uint32_t stop = next == none ? end : std::min(end, region(next).begin);
  return {begin, stop - begin};
}

// Cuts `painted` out of the regions it overlaps, and inserts it, merged with neighbours of the same
// state.
void RegionTree::paint(Region painted) {
  if (extend_in_place(painted)) return;
  Index below = none;
  Index covered = none;
  Index above = none;
  split(header_->root, painted.begin, below, covered);
  split(covered, painted.end, covered, above);

  Region united = painted;
  Region rest{};  // right part of a region that is cut
  const auto absorb_or_cut = [&](const Region& other) {
    if (other.state == painted.state) {
      united.begin = std::min(united.begin, other.begin);
      united.end = std::max(united.end, other.end);
    } else if (other.end > painted.end) {
      rest = {painted.end, other.end, other.state};
    }
  };
  const Index before = below == none ? none : rightmost(below);
  Region left = before == none ? Region{} : region(before);
  if (left.end < painted.begin) left = {};
  if (!left.empty()) absorb_or_cut(left);
  if (covered != none) absorb_or_cut(region(rightmost(covered)));
  Region right = above == none ? Region{} : region(leftmost(above));
  if (!rest.empty() || right.begin != united.end || right.state != united.state) right = {};
  if (!right.empty()) united.end = right.end;

  const Index node = take(united);
  const Index cut = rest.empty() ? none : take(rest);
  // Now that the new regions are stored, the old ones may go.
  if (!left.empty()) {
    if (left.state == painted.state) {
      Index removed = none;
      split(below, left.begin, below, removed);
      release(removed);
    } else {
      set(before, {left.begin, painted.begin, left.state});
    }
  }
  release_all(covered);
  if (!right.empty()) {
    Index removed = none;
    split(above, right.begin + 1, removed, above);
    release(removed);
  }
  header_->root = merge(merge(below, node), merge(cut, above));
}

// The common case of successive records: only the end of one region moves.
bool RegionTree::extend_in_place(Region painted) {
  const Index at = last_from(painted.begin);
  if (at == none) return false;
  const Region here = region(at);
  if (here.state != painted.state || here.end < painted.begin) return false;
  if (here.end >= painted.end) return true;
  const Index next = first_after(painted.begin);
  if (next != none && region(next).begin <= painted.end) return false;
  set(at, {here.begin, painted.end, here.state});
  return true;
}

// The largest number of additional regions, dirty or in flight, when `region` becomes dirty: none
// if it joins a dirty region, two if it splits one in flight.
uint32_t RegionTree::growth(Extent region) const {
  uint32_t more = 1;
  visit({region.offset - 1, region.length + 2}, [&](const Region& other) {
    if (other.state == State::dirty) more = 0;
    if (other.state == State::in_flight && other.begin < region.offset &&
        other.end > region.end()) {
      more = 2;
    }
  });
  return more;
}

RegionTree::Index RegionTree::take(Region region) {
  Index at = header_->free;
  if (at != none) {
    header_->free = nodes_[at].left;
    write(nodes_[at].region, pack(region));
  } else {
    at = header_->used;
    write(nodes_[at].region, pack(region));  // before the node counts as used
    header_->used = at + 1;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  nodes_[at].left = none;
  nodes_[at].right = none;
  ++count(region.state);
  return at;
}

void RegionTree::set(Index at, Region region) {
  --count(this->region(at).state);
  ++count(region.state);
  write(nodes_[at].region, pack(region));
}

void RegionTree::erase(Index at) {
  const Region old = region(at);
  if (old.empty()) return;
  --count(old.state);
  write(nodes_[at].region, 0);
}

void RegionTree::release(Index at) {
  erase(at);
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

// `below` receives the regions that begin before `begin`, `rest` the others.
void RegionTree::split(Index at, uint32_t begin, Index& below, Index& rest) {
  if (at == none) {
    below = none;
    rest = none;
  } else if (region(at).begin < begin) {
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
    const bool from = region(at).begin <= begin;
    if (from) found = at;
    at = from ? nodes_[at].right : nodes_[at].left;
  }
  return found;
}

RegionTree::Index RegionTree::first_after(uint32_t begin) const {
  Index found = none;
  for (Index at = header_->root; at != none;) {
    const bool after = region(at).begin > begin;
    if (after) found = at;
    at = after ? nodes_[at].left : nodes_[at].right;
  }
  return found;
}

// A one-to-one scramble (odd multipliers, shifts of the high half into the low one): no two nodes
// have the same priority.
uint32_t RegionTree::priority_of(Index index) {
  uint32_t x = (index + 1) * 0x9e3779b1u;
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  return x;
}

}  // namespace forebay
