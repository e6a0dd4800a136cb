#include "predict/signature.h"

#include <algorithm>

namespace forebay {
namespace {

// Bounds a loop over the same bytes, whose accesses take nothing of the window.
constexpr uint64_t most_accesses_ahead = 4096;

// Only the most recent terms are needed to predict. The signature itself is not kept.
constexpr pattern::Limits limits{.look_back = 32, .raw_bytes = 0, .pattern_bytes = 0};

}  // namespace

SignaturePredictor::SignaturePredictor(int64_t largest_window_bytes, int64_t join_bytes)
    : folder_(limits),
      sequential_(largest_window_bytes, join_bytes),
      window_(largest_window_bytes),
      fetch_(join_bytes) {}

std::span<const Extent> SignaturePredictor::access(Extent access) {
  const uint64_t generation = folder_.generation();
  folder_.add({access.offset, access.length, 0});
  const bool foreseen = sequential_.learn(access);
  if (leads_ && folder_.generation() == generation) {
    pass(access);
  } else {
    leads_ = folder_.loop() != nullptr && !foreseen;
    if (leads_) begin();
  }
  last_ = access;
  if (!leads_) return sequential_.look_ahead();
  sequential_.give_way();
  return look_ahead();
}

void SignaturePredictor::begin() {
  ahead_ = folder_.ahead();
  accesses_ahead_ = 0;
  window_.close();
}

// The predicted access has happened.
void SignaturePredictor::pass(Extent access) {
  if (accesses_ahead_ == 0) return ahead_.advance();
  --accesses_ahead_;
  window_.used(fetch_.cost_bytes(last_, access));
}

std::span<const Extent> SignaturePredictor::look_ahead() {
  fetch_.clear();
  if (accesses_ahead_ == 0) last_ahead_ = last_;
  int64_t wanted = window_.wanted(first_window_accesses * last_.length);
  while (wanted > 0 && accesses_ahead_ < most_accesses_ahead) {
    const pattern::Access next = ahead_.access();
    const Extent extent{next.offset, next.size};
    if (!FetchList::possible(extent)) break;  // the loop must end here, whatever its count
    const int64_t cost = fetch_.cost_bytes(last_ahead_, extent);
    fetch_.add(extent);
    window_.issued(cost);
    wanted -= cost;
    last_ahead_ = extent;
    ++accesses_ahead_;
    ahead_.advance();
  }
  return fetch_.sorted();
}

}  // namespace forebay
