#include "sim/shards.h"

namespace forebay::sim {
namespace {

// Largest state of a policy, in bytes per block, for which the table has more buckets. More buckets
// make it a fifth faster; with the state of a policy that keeps ghosts, a block would take more
// than 64 bytes.
constexpr std::size_t little_bytes = 16;

}  // namespace

Shards::Shards(const PolicySpec& policy, const ArenaShape& shape)
    : frames_per_shard_(shape.frames_per_shard()) {
  const bool roomy = policy.state_bytes(frames_per_shard_) <= little_bytes * frames_per_shard_;
  const uint32_t buckets = shape.buckets_per_shard() / (roomy ? 1 : 2);
  const std::size_t policy_words = (policy.state_bytes(frames_per_shard_) + 7) / 8;
  slots_.resize(shape.frames);
  states_.resize(shape.shards);
  buckets_.resize(std::size_t{buckets} * shape.shards);
  policies_.resize(policy_words * shape.shards);
  for (uint32_t s = 0; s < shape.shards; ++s) {
    shards_.emplace_back(&states_[s], &buckets_[std::size_t{buckets} * s], slots_.data(),
                         policy.attach(&policies_[policy_words * s], frames_per_shard_));
    shards_.back().reset(s * frames_per_shard_, frames_per_shard_, buckets);
    shards_.back().add_usable(frames_per_shard_);
  }
}

std::size_t Shards::bytes() const {
  return slots_.size() * sizeof(FrameSlot) + states_.size() * sizeof(ShardState) +
         buckets_.size() * sizeof(FrameIndex) + policies_.size() * sizeof(uint64_t);
}

}  // namespace forebay::sim
