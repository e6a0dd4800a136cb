#include "engine/shard.h"

namespace forebay {

namespace {

constexpr int pages_per_run_log2 = 4;  // neighbouring pages that share a shard

uint64_t mix(uint64_t value) {  // SplitMix64's finaliser
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

}  // namespace

uint32_t shard_of(PageKey key, uint32_t shards) {
  const auto run = static_cast<uint64_t>(key.page) >> pages_per_run_log2;
  return static_cast<uint32_t>((run + mix(key.file % files_at_once)) % shards);
}

Shard::Shard(ShardState* state, FrameIndex* buckets, Frame* frames, std::unique_ptr<Policy> policy)
    : state_(state), buckets_(buckets), frames_(frames), policy_(std::move(policy)) {}

void Shard::reset(FrameIndex first_frame, uint32_t frame_count, uint32_t buckets) {
  *state_ = ShardState{};
  state_->first_frame = first_frame;
  state_->frame_count = frame_count;
  state_->bucket_mask = buckets - 1;
  for (uint32_t b = 0; b < buckets; ++b) buckets_[b] = no_frame;
  policy_->reset();
}

FrameIndex& Shard::bucket(PageKey key) const {
  const uint64_t hash = mix(key.file * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(key.page));
  return buckets_[hash & state_->bucket_mask];
}

FrameIndex Shard::find(PageKey key) const {
  FrameIndex frame = bucket(key);
  while (frame != no_frame && !(frames_[frame].key == key)) frame = frames_[frame].hash_next;
  return frame;
}

Acquired Shard::acquire(PageKey key, bool count, const std::function<bool(FrameIndex)>& evictable) {
  const FrameIndex first = state_->first_frame;
  if (const FrameIndex frame = find(key); frame != no_frame) {
    if (count) policy_->hit(frame - first, key);
    return {Acquire::hit, frame};
  }
  if (state_->free_head != no_frame) return {Acquire::empty, state_->free_head};
  if (state_->usable < state_->frame_count) return {Acquire::grow, no_frame};
  const FrameIndex victim =
      policy_->victim(key, [&](FrameIndex local) { return evictable(first + local); });
  if (victim == no_frame) return {Acquire::none, no_frame};
  return {Acquire::victim, first + victim};
}

void Shard::add_usable(uint32_t frames) {
  for (uint32_t i = frames; i-- > 0;) {  // the lowest index comes off the free list first
    const FrameIndex frame = state_->first_frame + state_->usable + i;
    frames_[frame].hash_next = state_->free_head;
    state_->free_head = frame;
  }
  state_->usable += frames;
}

void Shard::stop_growing() { state_->frame_count = state_->usable; }

void Shard::link(FrameIndex frame, PageKey key, uint32_t file_slot) {
  Frame& f = frames_[frame];
  f.key = key;
  f.file_slot = file_slot;
  FrameIndex& head = bucket(key);
  f.hash_next = head;
  head = frame;
  ++state_->resident;
}

void Shard::unlink(FrameIndex frame) {
  Frame& f = frames_[frame];
  FrameIndex* at = &bucket(f.key);
  while (*at != frame) at = &frames_[*at].hash_next;
  *at = f.hash_next;
  f.key = PageKey{};
  --state_->resident;
}

void Shard::place(FrameIndex frame, PageKey key, uint32_t file_slot) {
  state_->free_head = frames_[frame].hash_next;
  link(frame, key, file_slot);
  policy_->insert(frame - state_->first_frame, key);
}

void Shard::replace(FrameIndex frame, PageKey key, uint32_t file_slot) {
  policy_->evicted(frame - state_->first_frame, frames_[frame].key);
  unlink(frame);
  link(frame, key, file_slot);
  policy_->insert(frame - state_->first_frame, key);
}

void Shard::release(FrameIndex frame) {
  Frame& f = frames_[frame];
  policy_->remove(frame - state_->first_frame, f.key);
  unlink(frame);
  f.hash_next = state_->free_head;
  state_->free_head = frame;
}

void Shard::rebuild() {
  state_->resident = 0;
  state_->free_head = no_frame;
  for (uint32_t b = 0; b <= state_->bucket_mask; ++b) buckets_[b] = no_frame;
  policy_->reset();
  for (uint32_t i = state_->usable; i-- > 0;) {
    const FrameIndex frame = state_->first_frame + i;
    Frame& f = frames_[frame];
    if (f.key.file == 0) {
      f.hash_next = state_->free_head;
      state_->free_head = frame;
    } else {
      link(frame, f.key, f.file_slot);
      policy_->insert(i, f.key);
    }
  }
}

}  // namespace forebay
