#include "engine/shard.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "engine/rules.h"

namespace forebay {

namespace {

constexpr int pages_per_run_log2 = 4;  // neighbouring pages that share a shard

int64_t run_of(int64_t page) { return page >> pages_per_run_log2; }

}  // namespace

// As many runs as there are shards make a block. The runs of a block go to the shards in turn, and
// where each block begins is spread by a multiplication. Of many random factors this one filled the
// shards best with what the tests have (tests/unit/engine/shard_test.cpp).
uint32_t shard_of(PageKey key, uint32_t shards) {
  constexpr uint64_t factor = 0xce74b3c4a402bb73;
  constexpr int bits = 64;
  if (shards == 1) return 0;
  const int shard_bits = std::countr_zero(shards);
  const auto run = static_cast<uint64_t>(run_of(key.page));
  const uint64_t begin = (run >> shard_bits) * factor >> (bits - shard_bits);
  return static_cast<uint32_t>(run + begin + mix(key.file % files_at_once)) & (shards - 1);
}

CommitShape shape_of(std::span<const Extent> dirty_regions, int64_t page_size) {
  if (dirty_regions.empty()) return {};
  return {static_cast<uint32_t>(dirty_regions.size()), dirty_regions.front().offset == 0,
          dirty_regions.back().end() == page_size};
}

template <typename Slot>
BasicShard<Slot>::BasicShard(ShardState* state, FrameIndex* buckets, Slot* frames,
                             std::unique_ptr<Policy> policy)
    : state_(state), buckets_(buckets), frames_(frames), policy_(std::move(policy)) {}

template <typename Slot>
void BasicShard<Slot>::reset(FrameIndex first_frame, uint32_t frame_count, uint32_t buckets,
                             uint32_t spare) {
  *state_ = ShardState{};
  state_->first_frame = first_frame;
  state_->frame_count = frame_count;
  state_->spare = spare;
  state_->bucket_mask = buckets - 1;
  for (uint32_t b = 0; b < buckets; ++b) buckets_[b] = no_frame;
  policy_->reset();
}

template <typename Slot>
FrameIndex& BasicShard<Slot>::bucket(PageKey key) const {
  return buckets_[hash_of(key) & state_->bucket_mask];
}

template <typename Slot>
FrameIndex BasicShard<Slot>::find(PageKey key) const {
  FrameIndex frame = bucket(key);
  while (frame != no_frame && !(frames_[frame].key == key)) frame = frames_[frame].hash_next;
  return frame;
}

template <typename Slot>
bool BasicShard<Slot>::may_hold(PageKey key) const {
  // The bucket of a resident page is empty only during a rebuild.
  const std::atomic_ref<uint32_t> rebuilds(state_->rebuilds);
  const uint32_t before = rebuilds.load(std::memory_order_acquire);
  const FrameIndex head = std::atomic_ref<FrameIndex>(bucket(key)).load(std::memory_order_acquire);
  return head != no_frame || before % 2 != 0 || rebuilds.load(std::memory_order_acquire) != before;
}

// A shard's frames as its policy sees them: numbered from the shard's first frame.
template <typename Slot>
class BasicShard<Slot>::Local final : public Candidates {
 public:
  Local(const BasicShard& shard, const FrameStates& states)
      : shard_(shard), states_(states), first_(shard.state_->first_frame) {}
  bool evictable(FrameIndex frame) const override { return states_.evictable(first_ + frame); }
  uint32_t commit_cost(FrameIndex frame) const override {
    return shard_.commit_cost(first_ + frame, states_);
  }

 private:
  const BasicShard& shard_;
  const FrameStates& states_;
  const FrameIndex first_;
};

// What a commit of the frame costs, in requests a page. It takes dirty neighbours along; only those
// that are surely in this shard are counted.
template <typename Slot>
uint32_t BasicShard<Slot>::commit_cost(FrameIndex frame, const FrameStates& states) const {
  const CommitShape own = states.commit_shape(frame);
  if (own.requests == 0) return 0;
  const PageKey key = frames_[frame].key;
  uint32_t pages = 1;
  uint32_t requests = own.requests;
  CommitShape last = own;
  int64_t side = 1;
  walk_neighbours(key.page, [&](int64_t page, int64_t direction) {
    if (side != direction) last = own;
    side = direction;
    if (run_of(page) != run_of(key.page)) return false;
    const FrameIndex neighbour = find({key.file, page});
    if (neighbour == no_frame) return false;
    const CommitShape shape = states.commit_shape(neighbour);
    if (shape.requests == 0) return false;
    const bool joined =
        direction > 0 ? last.at_end && shape.at_start : shape.at_end && last.at_start;
    requests += shape.requests - (joined ? 1 : 0);
    ++pages;
    last = shape;
    return true;
  });
  return std::max(requests * Candidates::requests_unit / pages, 1u);
}

template <typename Slot>
Acquired BasicShard<Slot>::acquire(PageKey key, bool count, const FrameStates& states) {
  if (const FrameIndex frame = find(key); frame != no_frame) {
    if (count) hit(frame);
    return {Acquire::hit, frame};
  }
  if (below_capacity()) {
    if (state_->free_head != no_frame) return {Acquire::empty, state_->free_head};
    if (state_->usable < state_->frame_count) return {Acquire::grow, no_frame};
  }
  const FrameIndex frame = victim(key, states);
  return {frame == no_frame ? Acquire::none : Acquire::victim, frame};
}

template <typename Slot>
FrameIndex BasicShard<Slot>::victim(PageKey key, const FrameStates& states) const {
  const FrameIndex local = policy_->victim(key, Local(*this, states));
  return local == no_frame ? no_frame : state_->first_frame + local;
}

template <typename Slot>
void BasicShard<Slot>::add_usable(uint32_t frames) {
  for (uint32_t i = frames; i-- > 0;) {  // the lowest index comes off the free list first
    const FrameIndex frame = state_->first_frame + state_->usable + i;
    frames_[frame].hash_next = state_->free_head;
    state_->free_head = frame;
  }
  state_->usable += frames;
}

template <typename Slot>
void BasicShard<Slot>::stop_growing() {
  state_->frame_count = state_->usable;
  state_->spare = std::min(state_->spare, most_spare(state_->usable));
}

template <typename Slot>
void BasicShard<Slot>::link(FrameIndex frame, PageKey key, uint32_t file_slot) {
  Slot& f = frames_[frame];
  f.key = key;
  f.file_slot = file_slot;
  FrameIndex& head = bucket(key);
  f.hash_next = head;
  std::atomic_ref<FrameIndex>(head).store(frame, std::memory_order_release);
  ++state_->resident;
}

template <typename Slot>
void BasicShard<Slot>::unlink(FrameIndex frame) {
  Slot& f = frames_[frame];
  FrameIndex* at = &bucket(f.key);
  while (*at != frame) at = &frames_[*at].hash_next;
  std::atomic_ref<FrameIndex>(*at).store(f.hash_next, std::memory_order_release);
  f.key = PageKey{};
  --state_->resident;
}

template <typename Slot>
void BasicShard<Slot>::place(FrameIndex frame, PageKey key, uint32_t file_slot) {
  state_->free_head = frames_[frame].hash_next;
  link(frame, key, file_slot);
  policy_->insert(frame - state_->first_frame, key);
}

template <typename Slot>
void BasicShard<Slot>::replace(FrameIndex frame, PageKey key, uint32_t file_slot) {
  const FrameIndex local = frame - state_->first_frame;
  policy_->replace(local, frames_[frame].key, local, key);
  unlink(frame);
  link(frame, key, file_slot);
}

template <typename Slot>
Acquired BasicShard<Slot>::acquire_spare() const {
  if (!may_leave()) return {Acquire::none, no_frame};
  if (state_->free_head != no_frame) return {Acquire::empty, state_->free_head};
  return {state_->usable < state_->frame_count ? Acquire::grow : Acquire::none, no_frame};
}

template <typename Slot>
void BasicShard<Slot>::retire(FrameIndex victim, FrameIndex frame, PageKey key,
                              uint32_t file_slot) {
  set_leaving(frames_[victim], true);
  ++state_->leaving;
  const FrameIndex first = state_->first_frame;
  policy_->replace(victim - first, frames_[victim].key, frame - first, key);
  state_->free_head = frames_[frame].hash_next;
  link(frame, key, file_slot);
}

template <typename Slot>
void BasicShard<Slot>::release(FrameIndex frame) {
  Slot& f = frames_[frame];
  if (leaves(f)) {
    set_leaving(f, false);
    --state_->leaving;
  } else {
    policy_->remove(frame - state_->first_frame, f.key);
  }
  unlink(frame);
  f.hash_next = state_->free_head;
  state_->free_head = frame;
}

template <typename Slot>
void BasicShard<Slot>::rebuild() {
  const std::atomic_ref<uint32_t> rebuilds(state_->rebuilds);
  rebuilds.store(rebuilds.load() | 1);  // a process may have died within a rebuild
  state_->resident = 0;
  state_->leaving = 0;
  state_->free_head = no_frame;
  for (uint32_t b = 0; b <= state_->bucket_mask; ++b)
    std::atomic_ref<FrameIndex>(buckets_[b]).store(no_frame);
  policy_->reset();
  for (uint32_t i = state_->usable; i-- > 0;) {
    const FrameIndex frame = state_->first_frame + i;
    Slot& f = frames_[frame];
    if (f.key.file == 0) {
      f.hash_next = state_->free_head;
      state_->free_head = frame;
    } else {
      link(frame, f.key, f.file_slot);
      if (leaves(f))
        ++state_->leaving;
      else
        policy_->insert(i, f.key);
    }
  }
  rebuilds.fetch_add(1);
}

template class BasicShard<Frame>;
template class BasicShard<FrameSlot>;

}  // namespace forebay
