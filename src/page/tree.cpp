#include "page/tree.h"

#include "page/region_tree.h"

namespace forebay {
namespace {

using State = RegionTree::State;

const RegionTree reader(const void* state, int64_t page_size) {
  return RegionTree(const_cast<void*>(state), page_size);
}

}  // namespace

std::size_t TreePage::state_bytes(int64_t page_size) const {
  return RegionTree::state_bytes(page_size);
}

void TreePage::reset(void* state, int64_t page_size) const { RegionTree(state, page_size).clear(); }

bool TreePage::publish(void* state, int64_t page_size, Extent region) const {
  return region.empty() || RegionTree(state, page_size).paint_dirty(region);
}

bool TreePage::fill(void* state, int64_t page_size, Extent region) const {
  if (!region.empty()) RegionTree(state, page_size).fill(region);
  return true;
}

bool TreePage::holds(const void* state, int64_t page_size, Extent region) const {
  return region.empty() || reader(state, page_size).first_gap(region).empty();
}

void TreePage::missing(const void* state, int64_t page_size, Extent region, Regions& out) const {
  if (region.empty()) return;
  reader(state, page_size).each_gap(region, [&out](Extent gap) { out.push_back(gap); });
}

void TreePage::take_dirty(void* state, int64_t page_size, Regions& out) const {
  dirty(state, page_size, out);
  RegionTree(state, page_size).convert(State::dirty, State::in_flight);
}

void TreePage::settle(void* state, int64_t page_size, bool stored) const {
  RegionTree(state, page_size).convert(State::in_flight, stored ? State::clean : State::dirty);
}

void TreePage::unsaved(const void* state, int64_t page_size, Regions& out) const {
  reader(state, page_size).unsaved(out);
}

void TreePage::repair(void* state, int64_t page_size) const {
  RegionTree(state, page_size).repair();
}

void TreePage::dirty(const void* state, int64_t page_size, Regions& out) const {
  reader(state, page_size).visit({0, page_size}, [&out](const RegionTree::Region& region) {
    if (region.state == State::dirty) out.push_back({region.begin, region.end - region.begin});
  });
}

bool TreePage::any_dirty(const void* state, int64_t page_size) const {
  return reader(state, page_size).any(State::dirty);
}

void TreePage::drop_clean(void* state, int64_t page_size) const {
  RegionTree(state, page_size).forget_clean();
}

void TreePage::truncate(void* state, int64_t page_size, int64_t length) const {
  if (length < page_size) RegionTree(state, page_size).truncate(static_cast<uint32_t>(length));
}

}  // namespace forebay
