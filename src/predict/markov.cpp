#include "predict/markov.h"

#include <algorithm>

#include "extent/seeded_random.h"

namespace forebay {

uint64_t MarkovPredictor::Pair::hash() const {
  uint64_t hash = 1;
  for (const int64_t number : {before.offset, before.length, last.offset, last.length})
    hash = SeededRandom(hash ^ static_cast<uint64_t>(number)).next();
  return hash | 1;  // never 0
}

std::span<const Extent> MarkovPredictor::access(Extent access) {
  const bool predicted = predicts();
  const bool in_sequence = sequential_.learn(access);
  const bool as_foreseen = !foreseen_.empty() && foreseen_.front() == access;
  if (as_foreseen) {
    window_.used(fetch_.cost_bytes(latest_.last, access));
    foreseen_.pop_front();
  } else {
    foreseen_.clear();
    window_.close();
  }
  if (as_foreseen || in_sequence)
    trust_.foreseen();
  else if (predicted)
    trust_.failed();
  learn(access);
  if (foreseen_.empty()) ahead_ = latest_;
  if (trust_.rests() > 0) {
    foreseen_.clear();
    window_.close();
    sequential_.give_way();
    return {};
  }
  if (taken_ < 2 || (foreseen_.empty() && follower_of(latest_) == nullptr))
    return sequential_.look_ahead();
  sequential_.give_way();
  return look_ahead();
}

void MarkovPredictor::rested(int64_t accesses, int64_t bytes) {
  trust_.rested(accesses, bytes);
  taken_ = 0;  // the accesses that were left out break the chain
}

void MarkovPredictor::learn(Extent access) {
  if (taken_ >= 2) {
    const uint64_t hash = latest_.hash();
    Follower& follower = place_of(hash);
    if (follower.hash == hash && follower.access == access)
      follower.times = std::min(follower.times + 1, most_times);
    else if (follower.hash == hash && follower.times > 0)
      --follower.times;
    else
      follower = {hash, access, 0};
  }
  latest_.move_on(access);
  taken_ = std::min(taken_ + 1, 2);
}

// The place of the pair; if it has none, the place that it may take.
MarkovPredictor::Follower& MarkovPredictor::place_of(uint64_t hash) {
  if (followers_.empty()) followers_.resize(sets * set_size);
  const auto set = std::span(followers_).subspan(hash / 2 % sets * set_size, set_size);
  for (Follower& follower : set) {
    if (follower.hash == hash) return follower;
  }
  return *std::ranges::min_element(
      set, {}, [](const Follower& follower) { return follower.hash == 0 ? -1 : follower.times; });
}

const MarkovPredictor::Follower* MarkovPredictor::follower_of(const Pair& pair) {
  const uint64_t hash = pair.hash();
  const Follower& follower = place_of(hash);
  return follower.hash == hash ? &follower : nullptr;
}

std::span<const Extent> MarkovPredictor::look_ahead() {
  fetch_.clear();
  int64_t wanted = window_.wanted(first_window_accesses * latest_.last.length);
  while (wanted > 0 && foreseen_.size() < most_foreseen) {
    const Follower* const next = follower_of(ahead_);
    if (next == nullptr) break;
    const int64_t cost = fetch_.cost_bytes(ahead_.last, next->access);
    fetch_.add(next->access);
    window_.issued(cost);
    wanted -= cost;
    foreseen_.push_back(next->access);
    ahead_.move_on(next->access);
  }
  return fetch_.sorted();
}

}  // namespace forebay
